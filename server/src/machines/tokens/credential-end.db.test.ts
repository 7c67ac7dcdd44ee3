import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { exchangesOn } from '../../../../test/exchange-scene.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { oauthClient } from '../../../../test/oauth-client.ts'
import { operatorWithSecret } from '../../../../test/operator-credential.ts'
import { runtimesOn } from '../../../../test/runtime-scene.ts'

const live = serverFixture()
const { swapped, owner } = exchangesOn(live)

/** Lets a credential end before its tokens would, and says when, in whole seconds since 1970. */
const endSoon = async (table: 'service_account_keys' | 'shared_runtime_operator_credentials', key_id: string): Promise<number> => {
  const [row] = await live.sql<{ expires_at: Date }>(
    `update ${table} set expires_at = date_trunc('second', clock_timestamp()) + interval '90.7 seconds' where id = $1 returning expires_at`,
    [key_id],
  )
  return Math.floor(row!.expires_at.getTime() / 1000)
}

test('TI-06 TI-25 token of a service account: its key ends sooner than policy allows → `exp` is the end of the key', async () => {
  const machine = await machineWithSecret(live)
  const end = await endSoon('service_account_keys', machine.key_id)
  for (const asked of [{}, { ttl_seconds: 3600 }]) {
    const { body } = await machine.ask(asked)
    expect(decodeJwt(body.access_token).exp).toBe(end)
    expect([Date.parse(body.expires_at) / 1000, body.expires_in_seconds]).toEqual([end, end - decodeJwt(body.access_token).iat!])
  }
  const { body } = await machine.ask({ ttl_seconds: 10 })
  expect(body.expires_in_seconds).toBe(10)
})

test('TI-06 token of an operator: its credential ends sooner than policy allows → `exp` is the end of the credential', async () => {
  const operator = await operatorWithSecret(live, await runtimesOn(live).made())
  const end = await endSoon('shared_runtime_operator_credentials', operator.key_id)
  expect(decodeJwt((await operator.ask()).body.access_token).exp).toBe(end)
})

test('TI-06 TI-17 exchange: the client’s key ends sooner than the token it brings → `exp` is the end of the key', async () => {
  const long = await owner.token()
  const client = await oauthClient(live)
  const end = await endSoon('service_account_keys', client.key_id)
  expect(decodeJwt(long).exp).toBeGreaterThan(end)
  expect(decodeJwt(await swapped(client, long)).exp).toBe(end)
})
