import type { SignedTask } from '../../../contract/src/node-tasks.ts'
import { newId } from '../../../server/src/ground/kernel/ids.ts'
import { enrolledNode } from '../../enrolled-node.ts'
import type { Build } from '../../faults/builds.ts'
import { callingOn } from '../../faults/calling.ts'
import type { FaultWorld } from '../../faults/world.ts'
import { type Applied, type Mishaps, modelNode } from '../../model-node.ts'
import { type Chance, chanceFrom } from './chance.ts'

export interface Application {
  readonly node_id: string
  readonly allocation_id: string
  readonly applied: Applied
}

interface Broken {
  readonly build?: Build
  readonly orderOf?: NonNullable<Mishaps['orderOf']>
}

/** One node of a model, to which answers come late, twice, in any order or not at all, until all is to be calm. */
const unsteadyNode = async (
  live: { call: ReturnType<typeof callingOn> },
  doors: readonly string[],
  chance: Chance,
  { orderOf }: Broken,
  { region, history }: { region: string; history: Application[] },
) => {
  const enrolled = await enrolledNode(live as never, { region, sku: 'access', gpus: 1024 })
  let is_calm = false
  let is_over = false
  const late: SignedTask[] = []
  const deliver = (tasks: readonly SignedTask[]): SignedTask[] => {
    if (is_calm) return [...tasks]
    const now = tasks.flatMap((task) => {
      if (chance.is(0.15)) late.push(task)
      if (chance.is(0.1)) return []
      return chance.is(0.2) ? [task, task] : [task]
    })
    const returned = late.length > 0 && chance.is(0.3) ? late.splice(0, 1 + chance.below(late.length)) : []
    return chance.shuffled([...now, ...returned])
  }
  const node = modelNode(
    live,
    { ...enrolled, call: (method, path, body, headers) => enrolled.call(method, path, body, headers, chance.one(doors)) },
    {
      deliver,
      loseReport: () => !is_calm && chance.is(0.1),
      loseAnswer: () => !is_calm && chance.is(0.1),
      ...(orderOf && { orderOf }),
    },
  )
  const keep = node.held.set.bind(node.held)
  node.held.set = (allocation_id, applied) => {
    history.push({ node_id: node.id, allocation_id, applied })
    return keep(allocation_id, applied)
  }
  const running = (async () => {
    while (!is_over) {
      if (!is_calm && chance.is(0.2)) node.restart()
      // A server may have no time for it, or none of its connections; the agent asks again.
      await node.step(1).catch(() => {})
    }
  })()
  return {
    id: node.id,
    held: node.held,
    unsettle: () => {
      is_calm = false
    },
    /** Nothing is lost any more; what was to come late comes when all else is done. */
    calm: () => {
      is_calm = true
      node.restart()
    },
    deliverLate: async () => {
      for (const task of chance.shuffled(late.splice(0))) await node.perform(task)
    },
    stop: async () => {
      is_over = true
      await running
      enrolled.stop()
    },
  }
}

/** Three server processes on one database, and two nodes that come to whichever of them. */
export const accessPlace = async (world: FaultWorld, broken: Broken = {}, seed = 1) => {
  const chance = chanceFrom(seed)
  const servers = await Promise.all([1, 2, 3].map(() => world.start({ build: broken.build ?? 'sound', has_door: true })))
  const urls = servers.map(({ url }) => url)
  const doors = servers.map(({ door }) => door!)
  const call = callingOn(world, () => chance.one(urls))
  const history: Application[] = []
  // Its own: what it asks for must not come to nodes of an earlier place, which nobody plays any more.
  const region = `access-${newId('node')}`
  const node = () => unsteadyNode({ call }, doors, chance, broken, { region, history })
  const nodes = [await node(), await node()]
  return {
    world,
    chance,
    call,
    region,
    nodes,
    history,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()))
      await Promise.all(servers.map(({ kill }) => kill()))
    },
  }
}
export type AccessPlace = Awaited<ReturnType<typeof accessPlace>>
