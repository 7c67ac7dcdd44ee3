import { operation } from '@gatehouse/contract/operation'
import { expect, test } from 'vitest'
import { authorize } from '../authz/authorize.ts'
import { answer, answerAgain, answerAsking, answerIssuing, answerWaiting } from './answer.ts'

const asking = <const A extends string>(action: A | readonly A[]) =>
  operation({
    ...{ id: 'test.ask', method: 'GET', path: '/test', summary: 'Asks.', actors: ['user'], effect: 'read', problems: [] },
    action,
  } as const)
const registered = asking('tenant.read')
const unregistered = asking('tenant.raed')
const oneUnregistered = asking(['tenant.read', 'tenant.raed'])
const verb = async () => ({})
const waiting = { look: async () => ({ is_there: false, nothing: {} }), take: async () => undefined, wait: () => null as never }

/** Only compiled, and that is the proof: where a line below became legal, the compiler would call its comment unused. */
const unregisteredActionsDoNotCompile = () => {
  answer(registered, verb)
  // @ts-expect-error: the registry has no such action
  answer(unregistered, verb)
  // @ts-expect-error: nor may one of several be none
  answer(oneUnregistered, verb)
  // @ts-expect-error: the registry has no such action
  answerAgain(unregistered, verb)
  // @ts-expect-error: the registry has no such action
  answerAsking(unregistered, verb)
  // @ts-expect-error: the registry has no such action
  answerIssuing(unregistered, verb)
  answerWaiting(registered, waiting)
  // @ts-expect-error: the registry has no such action
  answerWaiting(unregistered, waiting)
  // @ts-expect-error: the registry has no such action
  authorize(null as never, 'tenant.raed', null as never, undefined)
  // @ts-expect-error: what may be any text is no action of the registry
  answer(asking('tenant.read' as string), verb)
}

test('DE-08 an operation is answered with the actions that it names, and one that names an unregistered one does not compile', () => {
  expect(unregisteredActionsDoNotCompile).toBeTypeOf('function')
  expect(answer(registered, verb).operation.actions).toEqual(['tenant.read'])
})
