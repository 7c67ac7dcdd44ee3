import { expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { forgetTokens } from './forget-tokens.ts'

const live = serverFixture()
const days = 24 * 3600

/** A token like one that was really issued, which expired so long ago; perhaps one that was exchanged for another. */
const expired = async (like: string, seconds_ago: number, parent_id: string | null = null) => {
  const id = newId('token')
  const columns = `actor_type, actor_id, credential_id, org_id, project_id, binding, typ, kid, audience, scope, epoch`
  await live.sql(
    `insert into issued_tokens (id, parent_id, ${columns}, issued_at, expires_at)
     select $1, $2, ${columns}, now() - make_interval(secs => $3 + 900), now() - make_interval(secs => $3) from issued_tokens where id = $4`,
    [id, parent_id, seconds_ago, like],
  )
  return id
}
const left = async () => (await live.sql<{ id: string }>('select id from issued_tokens order by id')).map(({ id }) => id)
const epochs = async () => live.sql('select id, value from epochs order by id')

test('HO-11 issued tokens: long past their time → their rows go, with their exchanges, and no epoch moves', async () => {
  const machine = await machineWithSecret(live)
  expect((await machine.ask()).status).toBe(200)
  const [issued] = await left()
  const recent = await expired(issued!, 6 * days)
  const parent = await expired(issued!, 8 * days)
  await expired(issued!, 8 * days, parent)
  for (let n = 0; n < 5; n += 1) await expired(issued!, 30 * days)
  const before = await epochs()
  expect(await forgetTokens(live.database, 2)).toBe(7)
  expect(await left()).toEqual([issued!, recent].sort())
  expect(await epochs()).toEqual(before)
  expect(await forgetTokens(live.database)).toBe(0)

  // Policy says how long they stay.
  await live.setPolicy('auth.expired_token_retention_seconds', 5 * days)
  expect(await forgetTokens(live.database)).toBe(1)
  expect(await left()).toEqual([issued])
})
