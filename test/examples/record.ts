import type { Operation } from '../../contract/src/operation.ts'
import type { Example } from '../../server/src/rails/http/examples.ts'
import { recipes } from '../faults/recipes.ts'
import type { FaultWorld } from '../faults/world.ts'
import { bearerFor, pathOf, rightfulCalls, sendingOf } from '../fuzz/rightful-calls.ts'
import type { LiveServer } from '../live-server.ts'
import { tidied } from './tidied.ts'

interface Answer {
  readonly status: number
  readonly body: unknown
}

const exampleOf = (operation: Operation, asked: { params: object; body?: unknown }, answer: Answer | null): Example => {
  const { id, success, success_again, body, reply } = operation
  if (!answer || (answer.status !== success && answer.status !== success_again))
    throw new Error(`${id} was to be an example, and answered ${answer?.status} ${JSON.stringify(answer?.body)}`)
  const tidy = tidied()
  return {
    ...(Object.keys(asked.params).length > 0 ? { params: tidy(asked.params) as Record<string, string> } : {}),
    ...(body && asked.body !== undefined ? { body: tidy(asked.body) } : {}),
    ...(reply ? { reply: tidy(answer.body) } : {}),
  }
}

/** A change: the recipe sets the scene and says how it is asked. */
const ofChange = async (world: FaultWorld, url: string, operation: Operation): Promise<Example> => {
  const asking = await world.prepare(operation.id, world.stageOn(url))
  return exampleOf(operation, asking, await world.ask(url, world.intend(operation.id, asking)))
}

/** The one change without a recipe: a node that has just been asked for something comes and asks what. */
const ofWaiting = async (world: FaultWorld, url: string, operation: Operation): Promise<Example> => {
  const stage = world.stageOn(url)
  const { person, node_id } = await stage.enrolled()
  await stage.done('node.probe', { person: 'ada', params: { node_id }, body: {} })
  const asking = { person, params: { node_id }, body: {} }
  return exampleOf(operation, asking, await world.ask(url, world.intend(operation.id, asking)))
}

const ofRead = async (live: LiveServer, operation: Operation): Promise<Example> => {
  const call = rightfulCalls.find((each) => each.operation.id === operation.id)
  if (!call) throw new Error(`nobody knows how ${operation.id} is asked`)
  const { person, params, body, query = '' } = call
  const sending = sendingOf(operation, body)
  return exampleOf(
    operation,
    call,
    await live.call(
      bearerFor(operation, person),
      operation.method,
      `${pathOf(operation.path, params)}${query === '' ? '' : `?${query}`}`,
      sending,
    ),
  )
}

/** A read for operators alone: one that has just reported looks. */
const ofOperator = async (world: FaultWorld, url: string, operation: Operation): Promise<Example> => {
  const { person, params } = await world.prepare('shared_runtime.status.report', world.stageOn(url))
  const asking = { person, params, body: {} }
  return exampleOf(operation, asking, await world.ask(url, world.intend(operation.id, asking)))
}

/** Asks for real, and returns what was asked and answered. */
export const recordExample = (world: FaultWorld, url: string, live: LiveServer, operation: Operation): Promise<Example> => {
  if (Object.hasOwn(recipes, operation.id)) return ofChange(world, url, operation)
  if (operation.actors.every((type) => type === 'shared_runtime_operator')) return ofOperator(world, url, operation)
  return operation.id === 'node.task.wait' ? ofWaiting(world, url, operation) : ofRead(live, operation)
}
