import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { revokeServiceAccountKey } from '@gatehouse/contract/service-accounts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Fresh, keepFresh } from '#ground/epochs/fresh.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'

const { org, project } = seeded
let begun = 0
let reads = 0
/** Counts the reads of all requests, when they begin and when they have ended. */
const counted = (fresh: Fresh): Fresh => ({
  ...fresh,
  forRequest: () => {
    const reader = fresh.forRequest()
    return {
      ...reader,
      read: (wanted) => {
        begun += 1
        const known = reader.read(wanted)
        void Promise.resolve(known).then(() => {
          reads += 1
        })
        return known
      },
    }
  },
})
// The clock of proofs stands still unless the test moves it.
beforeAll(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
const live = serverFixture({ parts: (parts) => ({ ...parts, fresh: counted(keepFresh(parts.database)) }) })
const sockets: Socket[] = []
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  vi.useRealTimers()
})

const body = JSON.stringify({ project_id: project.aurora, name: 'a run', region: 'nowhere', sku: 'h100', gpus: 1 })

/** Sends the head of a request, and its body when it is told to. */
const heldBack = async (token: string) => {
  const { port, hostname } = new URL(live.url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  const closed = once(socket, 'close')
  let said = ''
  socket.on('data', (bytes) => {
    said += bytes
  })
  const head = ['POST /api/v1/allocations HTTP/1.1', 'host: x', `authorization: Bearer ${token}`, 'content-type: application/json']
  const before = begun
  socket.write(`${[...head, `content-length: ${body.length}`, 'connection: close'].join('\r\n')}\r\n\r\n`)
  // The server has found out who asks, and has nothing left to read before the body: the clock may move without making a read late.
  await expect
    .poll(async () => {
      const quiet = begun
      await live.call(null, 'GET', '/healthz')
      return quiet > before && begun === quiet && reads === quiet
    })
    .toBe(true)
  return async () => {
    socket.write(body)
    await closed
    return Number(said.slice(9, 12))
  }
}

test('T9 TI-15 a machine whose body comes long after its key was revoked asks too late, however early its request began', async () => {
  const machine = await machineOn(live.sql, { org_id: org.aurora, project_id: project.aurora })
  const { token } = await machine.mint()
  const [inTime, late] = [await heldBack(token), await heldBack(token)]
  vi.advanceTimersByTime(1000)
  expect(await inTime()).toBe(201)
  expect(
    (
      await live.ask('amara', revokeServiceAccountKey, {
        params: { project_id: project.aurora, service_account_id: machine.account_id, key_id: machine.key_id },
        body: { reason: 'stolen' },
      })
    ).status,
  ).toBe(204)
  expect(await late()).toBe(401)
  expect(await live.sql(`select from allocations where name = 'a run'`)).toHaveLength(1)
})
