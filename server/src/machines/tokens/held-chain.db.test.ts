import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { holdingChain } from '../../../../test/holding-chain.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { issuing_patience_ms } from './lanes.ts'

const { org, project } = seeded

// Nobody has waited too long unless the test moves the clock: how busy the machine is changes no answer.
beforeAll(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterAll(() => void vi.useRealTimers())
const live = serverFixture({ policies: noRateLimits, patience_ms: issuing_patience_ms })

const holding = (chain_id: string, during: () => Promise<void>) => holdingChain(live, chain_id, during)

const machines = async () => {
  const made = [
    await machineWithSecret(live),
    await machineWithSecret(live, { org_id: org.borealis, project_id: project.borealis }),
  ] as const
  // A chain must have begun before somebody can hold it.
  for (const each of made) expect((await each.ask()).status).toBe(200)
  return made
}
type Machine = Awaited<ReturnType<typeof machines>>[number]

const saidBy = (all: readonly Answered[]) => [
  ...new Set(all.map(({ status, body }) => (status === 200 ? '200' : `${status} ${body.code}`))),
]
const inTime = issuing_patience_ms
/** Somebody waits for a lock. */
const isHeldUp = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' limit 1`
const someoneIsHeldUp = () =>
  expect.poll(() => asSuperuser(live.clone.appUrl, async (client) => (await client.query(isHeldUp)).rowCount)).toBe(1)

/** Asks again and again, so many at a time, until it is told to stop. */
const storm = (machine: Machine, at_once: number, headers: (n: number) => Record<string, string>) => {
  let [isOver, n] = [false, 0]
  const answers: Answered[] = []
  const loop = async () => {
    while (!isOver) {
      n += 1
      answers.push(await machine.ask({}, headers(n)))
    }
  }
  const loops = Promise.all(Array.from({ length: at_once }, loop))
  return {
    answers,
    stop: async () => {
      isOver = true
      // Who has just asked is told in time as well.
      const passing = setInterval(() => vi.advanceTimersByTime(inTime), 100)
      await loops.finally(() => clearInterval(passing))
    },
  }
}
const ways: Record<string, (n: number) => Record<string, string>> = {
  'as they come': () => ({}),
  'with a key of the caller’s': (n) => ({ 'idempotency-key': `held-${n}` }),
  'both ways': (n) => (n % 2 ? { 'idempotency-key': `both-${n}` } : {}),
}

test.each(Object.entries(ways))(
  'TI-12 TI-23 while one tenant’s chain is held and it asks %s, others get their tokens, and it is told in time',
  async (_how, headers) => {
    const [held, other] = await machines()
    const others: Answered[] = []
    await holding(org.aurora, async () => {
      const { answers: told, stop } = storm(held, 100, headers)
      await someoneIsHeldUp()
      for (let n = 0; n < 20; n += 1) {
        others.push(await other.ask({}, n % 2 ? { 'idempotency-key': `o-${n}` } : {}))
        if (n !== 9) continue
        expect(told).toEqual([])
        // Their time is over: all of them are told, and ask again.
        vi.advanceTimersByTime(inTime)
        await expect.poll(() => told.length).toBe(100)
      }
      await stop()
      expect(saidBy(told)).toEqual(['503 dependency_unavailable'])
    })
    expect(saidBy(others)).toEqual(['200'])
    // Let go of, it goes on as before.
    expect(saidBy(await Promise.all(Array.from({ length: 20 }, (_, n) => held.ask({}, headers(1000 + n)))))).toEqual(['200'])
  },
)

test('TI-12 what waited only for a moment is issued, once, with its row and its record', async () => {
  const [held] = await machines()
  const ids: string[] = []
  let asking: Promise<Answered[]> = Promise.resolve([])
  await holding(org.aurora, async () => {
    asking = Promise.all(Array.from({ length: 20 }, (_, n) => held.ask({}, n % 2 ? { 'idempotency-key': `moment-${n}` } : {})))
    await someoneIsHeldUp()
  })
  for (const { status, body } of await asking) {
    expect(status).toBe(200)
    ids.push(body.credential_session_id)
  }
  const count = async (text: string) => (await live.sql<{ n: number }>(`select count(*)::int as n ${text}`, [ids]))[0]!.n
  expect(await count('from issued_tokens where id = any ($1::uuid[])')).toBe(20)
  expect(await count(`from audit_logs where action = 'auth.token.issue' and resource_id = any ($1::text[])`)).toBe(20)
})
