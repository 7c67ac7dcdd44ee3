import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { pathOf, sendingOf } from '../fuzz/rightful-calls.ts'
import { type LiveServer, liveServer, seeded } from '../live-server.ts'
import { machineWithSecret } from '../machine-credential.ts'
import { runtimesOn } from '../runtime-scene.ts'
import { askedBy } from './calls.ts'
import { fewAtOnce } from './walk.ts'
import { type MatrixWorld, matrixWorld } from './world.ts'

const because = { reason: 'because' }
let live: LiveServer
let world: MatrixWorld
beforeAll(async () => {
  live = await liveServer()
  world = await matrixWorld(live)
})
afterAll(async () => {
  world.machines.node.stop()
  world.machines.other.stop()
  await live.stop()
})

/** Those that somebody comes to with a token: everybody else is nobody yet who could be disabled. */
const asked = operations.filter(({ listener, identified_by }) => listener === 'api' && identified_by === 'bearer')

/** What does not open is refused to all whom the operation is for with the same bytes, before anything is judged. */
const isNotJudged = (who: string, { id }: Operation): boolean => who === 'operator' && id === 'delivery.unwrap'

/** Each has a token from before, and is of another kind. */
const disabledOnes = async (): Promise<Record<string, string>> => {
  const machine = await machineWithSecret(live)
  const account = (await machine.ask()).body.access_token
  await live.call('amara', 'POST', `/api/v1/projects/${seeded.project.aurora}/service-accounts/${machine.service_account_id}/disable`, {
    body: because,
  })
  const runtimes = runtimesOn(live)
  const id = await runtimes.made()
  const operator = await runtimes.tokenOf(id)
  await live.call('adam', 'POST', runtimes.one(id, '/disable'), { body: because })
  return { person: await live.tokenOf('nora'), account, operator }
}

const heard = async (operation: Operation, bearer: string) => {
  const { params, body, query } = askedBy(world, operation, 'project_owner')
  const path = `${pathOf(operation.path, params)}${query === undefined ? '' : `?${query}`}`
  const sending = sendingOf(operation, body)
  const correlation_id = `disabled-${crypto.randomUUID()}`
  const headers = { ...sending.headers, authorization: `Bearer ${bearer}`, 'x-request-id': correlation_id }
  const { status, body: answered } = await live.call(null, operation.method, path, { ...sending, headers })
  const recorded = (await live.auditOf(correlation_id)).map(({ action, result, reason_code }) => [action, result, reason_code])
  return { status, reason: answered?.details?.reason_code, recorded }
}

test('DE-04 DE-05 whoever is disabled is told that, at whichever operation: also where it is not for his like, or beyond his token', async () => {
  const faults: string[] = []
  for (const [who, bearer] of Object.entries(await disabledOnes())) {
    const judged = asked.filter((operation) => !isNotJudged(who, operation))
    await fewAtOnce(judged, async (operation) => {
      const told = JSON.stringify(await heard(operation, bearer))
      const expected = { status: 403, reason: 'actor_disabled', recorded: [[operation.recorded_as[0], 'denied', 'actor_disabled']] }
      if (told !== JSON.stringify(expected)) faults.push(`${who} at ${operation.id}: ${told}`)
    })
  }
  expect(faults).toEqual([])
})
