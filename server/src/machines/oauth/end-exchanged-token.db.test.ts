import { listProjectTokens, revokeTokens } from '@gatehouse/contract/tokens'
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { deafDatabase } from '../../../../test/deaf-database.ts'
import { ada, type Client, dead, exchangesOn, refused, said } from '../../../../test/exchange-scene.ts'
import { noRateLimits, serverFixture, testKeys, tokenIssuer } from '../../../../test/live-server.ts'
import { auroraHome } from '../../../../test/machine-credential.ts'
import { oauthClient } from '../../../../test/oauth-client.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { keySetSource } from '../keys/key-set.ts'
import { createSigner } from '../keys/signer.ts'
import type { IssuerParts } from '../tokens/issue-token.ts'
import { gateAndIssuer } from '../tokens/issuing.ts'
import { holding } from './holder.ts'
import { oauthWith } from './oauth-routes.ts'
import { proofUsing } from './used-proofs.ts'

const live = serverFixture({
  policies: {
    ...noRateLimits,
    'auth.wrong_secret.first_delay_milliseconds': 0,
    'auth.iam_token_issuer.allowed_audiences': ['gpuaas-api', 'gpuaas-storage', 'gpuaas-node'],
  },
})
const { disable, enable, onAll, opens, other, owner, replica, swap, swapped, third } = exchangesOn(live)

const revokeKey = ({ client_id }: Client) =>
  live.sql(`update service_account_keys set revoked_at = now(), revoked_by = ${ada}, revoke_reason = 'x' where id = $1`, [client_id])
const remove = ({ service_account_id: id }: Client) =>
  live.sql(`update service_accounts set state = 'deleted', deleted_at = now(), deleted_by = ${ada}, delete_reason = 'x' where id = $1`, [
    id,
  ])
const revoke = async (body: object) => {
  const answered = await live.ask('ada', revokeTokens, { body })
  expect(answered.status, answered.text).toBe(200)
}

describe('it ends with what it comes from', () => {
  interface Line {
    readonly subject: Client
    readonly middle: Client
    readonly last: Client
    readonly tokens: readonly [root: string, middle: string, last: string]
  }
  const jti = (token: string) => decodeJwt(token).jti
  const actor = ({ service_account_id: id }: Client) => ({ actor: { type: 'service_account', id } })
  const ends: [string, (line: Line) => Promise<unknown>][] = [
    ['the first token is revoked', ({ tokens }) => revoke({ token_id: jti(tokens[0]) })],
    ['the one between is revoked', ({ tokens }) => revoke({ token_id: jti(tokens[1]) })],
    ['the first is given back by its owner', ({ subject, tokens }) => subject.revoke({ token: tokens[0] })],
    ['the one between is given back by who acts', ({ middle, tokens }) => middle.revoke({ token: tokens[1] })],
    ['the key of the subject is revoked', ({ subject }) => revokeKey(subject)],
    ['the key of who acted before is revoked', ({ middle }) => revokeKey(middle)],
    ['the key of who acts is revoked', ({ last }) => revokeKey(last)],
    ['what was issued for the key of the subject is', ({ subject }) => revoke({ credential_id: subject.client_id })],
    ['what was issued for the key of who acted before is', ({ middle }) => revoke({ credential_id: middle.client_id })],
    ['what was issued for the key of who acts is', ({ last }) => revoke({ credential_id: last.client_id })],
    ['what was issued to the subject is', ({ subject }) => revoke(actor(subject))],
    ['what was issued to who acted before is', ({ middle }) => revoke(actor(middle))],
    ['what was issued to who acts is', ({ last }) => revoke(actor(last))],
    ['the subject is deleted', ({ subject }) => remove(subject)],
    ['who acted before is deleted', ({ middle }) => remove(middle)],
    ['who acts is deleted', ({ last }) => remove(last)],
    ['who acted before is disabled', ({ middle }) => disable(middle)],
    ['who acts is disabled', ({ last }) => disable(last)],
    [
      'the key of the subject expires',
      ({ subject }) => live.sql('update service_account_keys set expires_at = now() where id = $1', [subject.client_id]),
    ],
    [
      'the key of who acted before expires',
      ({ middle }) => live.sql('update service_account_keys set expires_at = now() where id = $1', [middle.client_id]),
    ],
  ]
  test.each(ends)('TI-16 TI-17 %s: the next request on every process is 401', async (_what, end) => {
    const [subject, middle, last] = [await oauthClient(live), await oauthClient(live), await oauthClient(live)]
    const root = await subject.token()
    const between = await swapped(middle, root)
    const token = await swapped(last, between)
    expect(await onAll(token)).toEqual(['open', 'open'])
    await end({ subject, middle, last, tokens: [root, between, token] })
    expect(await onAll(token)).toEqual([dead, dead])
    expect((await owner.introspect({ token })).body).toEqual({ active: false })
    expect(said(await swap(owner, token))).toBe(refused)
    const listed = await live.ask('ada', listProjectTokens, { params: { project_id: auroraHome.project_id }, query: { limit: 20 } })
    expect(listed.body.items.find(({ id }: { id: string }) => id === jti(token))).toMatchObject({
      state: 'ended',
      parent_id: jti(between),
      actor_id: subject.service_account_id,
      acting_id: last.service_account_id,
    })
  })

  test('TI-16 TI-17 it ends when the key of an earlier one does, by the clock alone', async () => {
    const [subject, last] = [await oauthClient(live), await oauthClient(live)]
    const token = await swapped(last, await subject.token())
    await live.sql(`update service_account_keys set expires_at = now() + interval '700 ms' where id = $1`, [subject.client_id])
    expect(await opens(token)).toBe('open')
    await expect.poll(() => opens(token)).toBe(dead)
  })

  test('TI-13 TI-17 it ends when the key is revoked that an earlier one was signed with', async () => {
    const subject = await owner.token()
    const token = await swapped(other, subject)
    const [{ kid }] = (await live.sql<{ kid: string }>('select kid from signing_keys where state = $1', ['active'])) as [{ kid: string }]
    await live.sql(
      `insert into signing_keys (kid, alg, public_jwk, custody, envelope, state, created_at, activated_at, ended_at, end_reason)
       select 'key-that-is-gone', alg, public_jwk, custody, envelope, 'revoked', now(), now(), now(), 'x' from signing_keys where kid = $1`,
      [kid],
    )
    expect(await opens(token)).toBe('open')
    await live.sql(`update issued_tokens set kid = 'key-that-is-gone' where id = $1`, [jti(subject)])
    expect(await onAll(token)).toEqual([dead, dead])
  })

  test('TI-15 TI-17 its subject is disabled: 403 actor_disabled, as with any token of its', async () => {
    const one = await oauthClient(live)
    const token = await swapped(other, await one.token())
    await disable(one)
    expect(await onAll(token)).toEqual(['403 actor_disabled', '403 actor_disabled'])
    await enable(one)
    expect(await onAll(token)).toEqual(['open', 'open'])
  })

  test('TI-16 TI-17 what ends a later one does not end the earlier', async () => {
    const [subject, last] = [await oauthClient(live), await oauthClient(live)]
    const root = await subject.token()
    const token = await swapped(last, root)
    await revokeKey(last)
    await revoke({ token_id: jti(token) })
    expect([await opens(root), await opens(token)]).toEqual(['open', dead])
  })

  test('TI-17 whoever was given it to act may give it back, and nobody else', async () => {
    const token = await swapped(other, await owner.token())
    await third.revoke({ token })
    expect(await opens(token)).toBe('open')
    await other.revoke({ token })
    expect(await opens(token)).toBe(dead)
  })

  test.each([
    ['another who acts', `act = jsonb_build_object('sub', '00000000-0000-7000-8000-000000000001')`],
    ['nobody who acts', 'act = null'],
    ['a longer chain', `act = jsonb_build_object('sub', act ->> 'sub', 'act', act)`],
  ])('TI-15 TI-17 whose record says something else is 401: %s', async (_what, changed) => {
    const token = await swapped(other, await owner.token())
    await live.sql(`update issued_tokens set ${changed} where id = $1`, [jti(token)])
    expect(await onAll(token)).toEqual([dead, dead])
  })

  test('TI-16 TI-17 a line that goes in a circle, or on and on, is a dead one and costs no more than any', async () => {
    const subject = await owner.token()
    const token = await swapped(other, subject)
    await live.sql('update issued_tokens set parent_id = $2 where id = $1', [jti(subject), jti(token)])
    expect(await onAll(token)).toEqual([dead, dead])
  })
})

describe('what changes while it is being exchanged', () => {
  const ring = parseKeyRing(testKeys)
  const sign = createSigner({ ring, transit: null })
  /** One more server whose signer does something first, and whose parts may be others. */
  const serving = (before: () => Promise<unknown>, changed: Partial<IssuerParts> = {}) =>
    live.replica((parts) => {
      const keys = {
        want: keySetSource(ring),
        sign: async (...asked: Parameters<typeof sign>) => {
          await before()
          return sign(...asked)
        },
      }
      const own: IssuerParts = { ...parts, patience_ms: unhurried.patience_ms, keys, issuer: tokenIssuer, ...changed }
      const useProof = proofUsing(own.database)
      const holders = holding(useProof, tokenIssuer.url)
      const routes = oauthWith({ ...own, ...gateAndIssuer(own), useProof, holders, identify: parts.identify }).routes
      return {
        ...parts,
        answers: parts.answers.map((each) => routes.find(({ operation }) => operation.id === each.operation.id) ?? each),
      }
    })
  const childrenOf = (token: string) => live.sql('select id from issued_tokens where parent_id = $1', [decodeJwt(token).jti])
  const giveBack = (token: string) =>
    live.sql(`update issued_tokens set revoked_at = now(), revoked_by = actor_id, revoke_reason = 'x' where id = $1`, [
      decodeJwt(token).jti,
    ])

  const changes: [string, (subject: Client, token: string) => Promise<unknown>][] = [
    ['its token is revoked', (_subject, token) => giveBack(token)],
    ['the key of its subject is revoked', (subject) => revokeKey(subject)],
    ['its subject is deleted', (subject) => remove(subject)],
    ['its subject is disabled', (subject) => disable(subject)],
  ]
  test.each(changes)('TI-16 TI-17 %s meanwhile: nothing is issued, with an idempotency key or without', async (_what, change) => {
    for (const headers of [{}, { 'idempotency-key': 'meanwhile' }]) {
      const [subject, client] = [await oauthClient(live), await oauthClient(live)]
      const token = await subject.token()
      const { url } = await serving(() => change(subject, token))
      expect(said(await swap(client, token, {}, headers, url))).toBe(refused)
      expect(await childrenOf(token)).toEqual([])
    }
  })

  test('TI-16 TI-17 the control: a server that does not ask again issues one, and it is dead all the same', async () => {
    const [subject, client] = [await oauthClient(live), await oauthClient(live)]
    const token = await subject.token()
    const { url } = await serving(() => giveBack(token), { database: await deafDatabase(live) })
    const answered = await swap(client, token, {}, {}, url)
    expect(answered.status, answered.text).toBe(200)
    expect(await onAll(answered.body.access_token)).toEqual([dead, dead])
  })

  test('TI-16 TI-17 given back by its owner while twenty exchange it on two servers: nothing that comes of it is left', async () => {
    const [subject, client] = [await oauthClient(live), await oauthClient(live)]
    const token = await subject.token()
    const asking = Array.from({ length: 20 }, (_, n) => swap(client, token, {}, {}, [live, replica][n % 2]!.url))
    const given = subject.revoke({ token })
    const answers = await Promise.all(asking)
    expect((await given).status).toBe(200)
    for (const { status, body } of answers)
      if (status === 200) expect(await onAll(body.access_token)).toEqual([dead, dead])
      else expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(said(await swap(client, token))).toBe(refused)
  })
})
