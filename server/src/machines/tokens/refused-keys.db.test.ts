import { randomUUID } from 'node:crypto'
import { revokeServiceAccountKey } from '@gatehouse/contract/service-accounts'
import { issueServiceAccountToken } from '@gatehouse/contract/tokens'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { holdingChain } from '../../../../test/holding-chain.ts'
import { type Answered, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { issuing_patience_ms } from './lanes.ts'

// A try is over when the test says so.
beforeAll(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterAll(() => void vi.useRealTimers())
const live = serverFixture({ patience_ms: issuing_patience_ms })
beforeEach(async () => {
  await live.setPolicy('auth.wrong_secret.first_delay_milliseconds', 1)
  await live.setPolicy('auth.wrong_secret.longest_delay_milliseconds', 1)
  await live.setPolicy('auth.wrong_secret.most_waiting_in_all', 500)
})

const denials = `select metadata ->> 'why' as why, (metadata ->> 'attempts')::int as attempts from audit_logs
                  where action = 'auth.token.deny' and metadata ->> 'key_id' = $1 order by attempts`
const denialsOf = (key_id: string) => live.sql<{ why: string; attempts: number }>(denials, [key_id])
const said = ({ status, body }: Answered) => `${status} ${body.code}`
const unknown = () => {
  const body = { service_account_id: randomUUID(), key_id: randomUUID(), client_secret: 'x' }
  return live.ask(null, issueServiceAccountToken, { body })
}

test('TI-12 whoever uses a revoked key with its right secret is in the record each time, however many guess at the same key', async () => {
  const sa = await machineWithSecret(live)
  expect(
    (
      await live.ask('aldo', revokeServiceAccountKey, {
        params: { project_id: seeded.project.aurora, service_account_id: sa.service_account_id, key_id: sa.key_id },
        body: { reason: 'leaked' },
      })
    ).status,
  ).toBe(204)
  for (let n = 0; n < 12; n += 1) expect(said(await sa.ask({ client_secret: 'x' }))).toBe('401 token_invalid')
  for (let n = 0; n < 5; n += 1) expect(said(await sa.ask())).toBe('401 token_invalid')
  const rows = await denialsOf(sa.key_id)
  expect(rows.filter(({ why }) => why === 'key_revoked').map(({ attempts }) => attempts)).toEqual([1, 2, 3, 4, 5])
  expect(rows.filter(({ why }) => why === 'wrong_secret').map(({ attempts }) => attempts)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

test('TI-11 TI-12 where the chain is held a known key is refused as an unknown one is, and its row comes when it is let go of', async () => {
  const sa = await machineWithSecret(live)
  expect((await sa.ask()).status).toBe(200)
  await holdingChain(live, seeded.org.aurora, async (look) => {
    const answers = await Promise.all([sa.ask({ client_secret: 'x' }), unknown(), sa.ask({ client_secret: 'y' }), unknown()])
    // All of them while it is held: nobody waited for the record.
    expect(answers.map(said)).toEqual(Array.from({ length: 4 }, () => '401 token_invalid'))
    expect(await look(denials, [sa.key_id])).toEqual([])
    // Longer than one try, and than the pause after it: it is tried again.
    vi.advanceTimersByTime(issuing_patience_ms)
    await new Promise((resolve) => setTimeout(resolve, 600))
  })
  expect(await denialsOf(sa.key_id)).toEqual([
    { why: 'wrong_secret', attempts: 1 },
    { why: 'wrong_secret', attempts: 2 },
  ])
})

test('TI-11 TI-26 nor do they differ where too many wait already', async () => {
  const sa = await machineWithSecret(live)
  expect((await sa.ask()).status).toBe(200)
  await live.setPolicy('auth.wrong_secret.most_waiting_in_all', 1)
  let asked = 0
  await live.setPolicy('auth.wrong_secret.first_delay_milliseconds', 1500)
  await live.setPolicy('auth.wrong_secret.longest_delay_milliseconds', 1500)
  await holdingChain(live, seeded.org.aurora, async () => {
    // Once more where a busy machine took longer than the one who waits.
    for (let isAnswered = true; isAnswered; asked += 1) {
      isAnswered = false
      // Of two that come at once one waits, and the other is told so.
      const two = [unknown(), unknown()]
      const isOneTold = said(await Promise.race(two)) === '429 rate_limit_exceeded'
      const waiting = Promise.all(two).then(() => {
        isAnswered = true
      })
      const answers = await Promise.all([sa.ask({ client_secret: 'x' }), unknown()])
      const isStillWaiting = isOneTold && !isAnswered
      if (isStillWaiting) expect(answers.map(said)).toEqual(['429 rate_limit_exceeded', '429 rate_limit_exceeded'])
      await waiting
      isAnswered = !isStillWaiting
    }
  })
  const attempts = Array.from({ length: asked }, (_, n) => n + 1)
  expect(await denialsOf(sa.key_id)).toEqual(attempts.map((each) => ({ why: 'wrong_secret', attempts: each })))
})
