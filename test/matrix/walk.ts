import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import type { ServerParts } from '../../server/src/http/server.ts'
import { doorCaller } from '../enrolled-node.ts'
import { pathOf, sendingOf } from '../fuzz/rightful-calls.ts'
import { runtimeOf } from '../fuzz/shared-runtime-calls.ts'
import { type LiveServer, type Sending, seeded } from '../live-server.ts'
import { believingOperators } from '../runtime-scene.ts'
import { type ActorClass, actorClasses, isOneOf, nodeAgents, serviceAccounts } from './actor-classes.ts'
import { type Refusal, refusalOf, rows } from './allowed.ts'
import { askedBy, personOf } from './calls.ts'
import { forgetting } from './forgetting.ts'
import type { MatrixWorld } from './world.ts'

const { org } = seeded

export interface Cell {
  readonly operation: Operation
  readonly who: ActorClass
}
interface Heard {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: an answer is read as a stranger would
  readonly body: any
}

/** Every operation with everybody who may come. */
export const everyCell: readonly Cell[] = operations.flatMap((operation) => actorClasses.map((who) => ({ operation, who })))

/** What machines show, each its own. */
const bearersOf = async (live: LiveServer, world: MatrixWorld): Promise<Map<ActorClass, string>> => {
  const bearers = new Map<ActorClass, string>()
  for (const who of serviceAccounts) {
    const { status, text, body } = await live.call(null, 'POST', '/api/v1/auth/service-account/token', { body: world.credentials.get(who) })
    if (status !== 200) throw new Error(`${who} gets no token: ${text}`)
    bearers.set(who, body.access_token)
  }
  bearers.set('runtime_operator', `operator.${org.aurora}.${runtimeOf('own')}`)
  bearers.set('delegated_operator', `operator.${org.aurora}.${world.delegated.id}`)
  bearers.set('outside_operator', `operator.${org.borealis}.${runtimeOf('foreign')}`)
  return bearers
}

const reasonIn = ({ body }: Heard): string => body?.details?.reason_code ?? body?.code ?? body?.error ?? ''
const isAsExpected = (heard: Heard, { status, reason }: Refusal): boolean => {
  const heardReason = reasonIn(heard)
  const isIt = reason === '*_not_found' ? heardReason.endsWith('_not_found') && heardReason !== 'route_not_found' : heardReason === reason
  return heard.status === status && isIt
}

/** Asks for real, over HTTP, each cell of the matrix on a server that keeps nothing of it. */
export const walker = async (live: LiveServer, world: MatrixWorld, broken: (parts: ServerParts) => ServerParts = (parts) => parts) => {
  const { url, nodes } = await live.replica((parts) => forgetting(believingOperators(broken(parts))))
  const bearers = await bearersOf(live, world)
  const { node, other } = world.machines
  const stranger = doorCaller(nodes.url, { ca: node.authority })

  const ask = async ({ operation, who }: Cell): Promise<Heard> => {
    const { params, body, query } = askedBy(world, operation, who)
    const path = `${pathOf(operation.path, params)}${query === undefined ? '' : `?${query}`}`
    const person = personOf(who)
    // A client says in the form who it is; to say it twice is refused.
    const isClient = operation.identified_by !== 'bearer' && isOneOf(serviceAccounts, who)
    const bearer = isClient ? undefined : person === null ? bearers.get(who) : await live.tokenOf(person)
    const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
    if (isOneOf(nodeAgents, who)) {
      const by = operation.id === 'node.enrol' ? stranger : who === 'node_agent' ? node : other
      return by.call(operation.method, path, body, {}, nodes.url)
    }
    if (operation.listener === 'nodes') return stranger.call(operation.method, path, body, headers)
    const sending: Sending = sendingOf(operation, body)
    return live.call(null, operation.method, path, { ...sending, headers: { ...sending.headers, ...headers } }, url)
  }

  /** What is wrong with the answer to one cell, if anything is. */
  const faultOf = async (cell: Cell): Promise<string | undefined> => {
    const { operation, who } = cell
    const row = rows[operation.id]
    if (!row) return `${operation.id} has no row in test/matrix/allowed.ts`
    const heard = await ask(cell)
    const told = `${who} at ${operation.id}: ${heard.status} ${heard.text.slice(0, 300)}`
    if (row.allowed.includes(who)) {
      const isSuccess = heard.status === operation.success || heard.status === operation.success_again
      return isSuccess ? undefined : `${told}, and may`
    }
    const expected = refusalOf(operation.id, row, who)
    return isAsExpected(heard, expected) ? undefined : `${told}, and was to be ${expected.status} ${expected.reason}`
  }

  return {
    ask,
    /** The faults of these cells, a few at a time. */
    walk: async (cells: readonly Cell[], at_once = 4): Promise<string[]> => {
      const faults: string[] = []
      const left = [...cells]
      const one = async () => {
        for (let cell = left.shift(); cell; cell = left.shift()) {
          const fault = await faultOf(cell)
          if (fault !== undefined) faults.push(fault)
        }
      }
      await Promise.all(Array.from({ length: at_once }, one))
      return faults.sort()
    },
    stop: () => {
      for (const each of [stranger, node, other]) each.stop()
    },
  }
}
