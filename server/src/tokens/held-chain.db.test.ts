import { expect, test } from 'vitest'
import { holdingChain } from '../../../test/holding-chain.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../test/live-server.ts'
import { machineWithSecret } from '../../../test/machine-credential.ts'

const { org, project } = seeded

const live = serverFixture({ policies: noRateLimits })

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

const timed = async (asking: Promise<Answered>) => {
  const began = performance.now()
  const { status, body } = await asking
  return { said: status === 200 ? '200' : `${status} ${body.code}`, took: performance.now() - began }
}
type Timed = Awaited<ReturnType<typeof timed>>
const saidBy = (all: readonly Timed[]) => [...new Set(all.map(({ said }) => said))]

/** Asks again and again, so many at a time, until it is told to stop. */
const storm = (machine: Machine, at_once: number, headers: (n: number) => Record<string, string>) => {
  let [isOver, n] = [false, 0]
  const answers: Timed[] = []
  const loop = async () => {
    while (!isOver) {
      n += 1
      answers.push(await timed(machine.ask({}, headers(n))))
    }
  }
  const loops = Promise.all(Array.from({ length: at_once }, loop))
  return async () => {
    isOver = true
    await loops
    return answers
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
    const others: Timed[] = []
    let told: readonly Timed[] = []
    await holding(org.aurora, async () => {
      const stop = storm(held, 100, headers)
      for (let n = 0; n < 20; n += 1) others.push(await timed(other.ask({}, n % 2 ? { 'idempotency-key': `o-${n}` } : {})))
      told = await stop()
    })
    expect(saidBy(others)).toEqual(['200'])
    // As soon as a statement is cancelled for its length, or sooner, everybody would have been told what one was.
    expect(Math.max(...others.map(({ took }) => took))).toBeLessThan(4500)
    expect(saidBy(told)).toEqual(['503 dependency_unavailable'])
    expect(Math.max(...told.map(({ took }) => took))).toBeLessThan(4500)
    // Let go of, it goes on as before.
    expect(saidBy(await Promise.all(Array.from({ length: 20 }, (_, n) => timed(held.ask({}, headers(1000 + n))))))).toEqual(['200'])
  },
  60_000,
)

test('TI-12 what waited only for a moment is issued, once, with its row and its record', async () => {
  const [held] = await machines()
  const ids: string[] = []
  let asking: Promise<Answered[]> = Promise.resolve([])
  await holding(org.aurora, async () => {
    asking = Promise.all(Array.from({ length: 20 }, (_, n) => held.ask({}, n % 2 ? { 'idempotency-key': `moment-${n}` } : {})))
    await new Promise((resolve) => setTimeout(resolve, 600))
  })
  for (const { status, body } of await asking) {
    expect(status).toBe(200)
    ids.push(body.credential_session_id)
  }
  const count = async (text: string) => (await live.sql<{ n: number }>(`select count(*)::int as n ${text}`, [ids]))[0]!.n
  expect(await count('from issued_tokens where id = any ($1::uuid[])')).toBe(20)
  expect(await count(`from audit_logs where action = 'auth.token.issue' and resource_id = any ($1::text[])`)).toBe(20)
})
