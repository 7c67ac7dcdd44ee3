import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import type { Database, Reader } from '#ground/db/database.ts'
import { keepFresh } from '#ground/epochs/fresh.ts'
import { newId } from '#ground/kernel/ids.ts'
import type { Problem } from '#ground/kernel/problem.ts'
import { newTrail } from '#ground/work/work.ts'
import type { Caller } from '#rails/http/answer.ts'
import { newOperatorSecret } from '#runtimes/operator-credentials/operator-credential.ts'
import { seeded, serverFixture, testKeys, tokenIssuer } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { operatorWithSecret } from '../../../../test/operator-credential.ts'
import { runtimesOn } from '../../../../test/runtime-scene.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { keySetSource } from '../keys/key-set.ts'
import { createSigner } from '../keys/signer.ts'
import { isSecretOf, newSecret } from '../service-accounts/credential.ts'
import type { Claimed } from './credential-gate.ts'
import { gateAndIssuer } from './issuing.ts'
import type { ServiceAccountGate } from './verify-service-account.ts'

const live = serverFixture({ policies: { 'auth.wrong_secret.first_delay_milliseconds': 1 } })

const ring = parseKeyRing(testKeys)

/** A gate that has seen nothing yet, and the names of all statements by which it reads. */
const countingGate = () => {
  const statements: string[] = []
  const counted = <R extends Reader>(reader: R): R => {
    const noting =
      (how: 'one' | 'maybe' | 'many') =>
      (statement: Parameters<Reader['many']>[0]): Promise<never> => {
        statements.push(statement.name)
        return reader[how](statement) as Promise<never>
      }
    return { ...reader, one: noting('one'), maybe: noting('maybe'), many: noting('many') }
  }
  const { database } = live
  const counting: Database = {
    ...database,
    reader: counted(database.reader),
    // What is written of a known key is written while he waits, and is no part of finding out.
    transaction: (mode, within) => database.transaction(mode, (tx) => within(mode === 'read' ? counted(tx) : tx)),
  }
  const fresh = keepFresh(counting, unhurried.fresh)
  const { gate, operators } = gateAndIssuer({
    database: counting,
    fresh,
    append: async () => {},
    patience_ms: unhurried.patience_ms,
    keys: { want: keySetSource(ring), sign: createSigner({ ring, transit: null }) },
    issuer: tokenIssuer,
  })
  const caller = {
    correlation_id: randomUUID(),
    source_ip: '192.0.2.7',
    fresh: fresh.forRequest(),
    trail: newTrail(),
    identified: async () => {},
  } as unknown as Caller
  return { gate, operators, caller, fresh, statements }
}

/** Which statements were read by, and how often somebody's secret was compared, until it was refused. */
const workOf = async (
  opening: (gate: ServiceAccountGate, caller: Caller, claimed: Claimed, prove: (given: unknown) => boolean) => Promise<unknown>,
  claimed: Claimed,
  secret: string,
) => {
  const { gate, caller, statements } = countingGate()
  let compared = 0
  const prove = (credential: unknown) => {
    compared += 1
    return isSecretOf(credential as Parameters<typeof isSecretOf>[0], secret)
  }
  const outcome = await opening(gate, caller, claimed, prove).then(
    () => 'opened',
    (error: unknown) => (error as Problem).code,
  )
  return { outcome, statements, compared }
}

const ways = {
  'for a token': (gate, caller, claimed, prove) => gate.verifier(caller, claimed, prove)(caller.fresh),
  'to say who it is': (gate, caller, claimed, prove) => gate.identify(caller, claimed, prove),
} satisfies Record<string, Parameters<typeof workOf>[0]>

test.each(Object.entries(ways))(
  'TI-11 T14 whoever shows a key %s is refused after the same reads, whatever is wrong with it',
  async (_way, opening) => {
    const made: Awaited<ReturnType<typeof machineWithSecret>>[] = []
    while (made.length < 6) made.push(await machineWithSecret(live))
    const [right, revoked, expired, disabled, deleted, another] = made as [(typeof made)[0], ...typeof made]
    const by = seeded.user('ada')
    await live.sql(`update service_account_keys set revoked_at = now(), revoked_by = $2, revoke_reason = 'x' where id = $1`, [
      revoked!.key_id,
      by,
    ])
    await live.sql(`update service_account_keys set expires_at = now() where id = $1`, [expired!.key_id])
    const ended = (id: string, state: string, columns: string) =>
      live.sql(`update service_accounts set state = '${state}', ${columns} where id = $1`, [id])
    await ended(disabled!.service_account_id, 'disabled', `disabled_at = now(), disabled_by = '${by}', disable_reason = 'x'`)
    await ended(deleted!.service_account_id, 'deleted', `deleted_at = now(), deleted_by = '${by}', delete_reason = 'x'`)

    for (const isNamed of [true, false]) {
      const shown = ({ service_account_id, key_id }: { service_account_id: string; key_id: string }): Claimed =>
        isNamed ? { actor_id: service_account_id, key_id } : { key_id }
      const cases: Record<string, [Claimed, string]> = {
        'wrong secret': [shown(right), newSecret().reveal()],
        'unknown key': [shown({ ...right, key_id: newId('key') }), right.client_secret],
        'unknown account': [shown({ service_account_id: newId('account'), key_id: newId('key') }), right.client_secret],
        'unknown account, known key': [{ actor_id: newId('account'), key_id: right.key_id }, right.client_secret],
        'the key of another': [{ actor_id: right.service_account_id, key_id: another!.key_id }, another!.client_secret],
        revoked: [shown(revoked!), revoked!.client_secret],
        expired: [shown(expired!), expired!.client_secret],
        disabled: [shown(disabled!), disabled!.client_secret],
        deleted: [shown(deleted!), deleted!.client_secret],
        ...(isNamed ? {} : { 'no id at all': [{ key_id: 'nobody' }, right.client_secret] satisfies [Claimed, string] }),
      }
      const told: Record<string, unknown> = {}
      for (const [name, [claimed, secret]] of Object.entries(cases)) {
        // Those who name the account are compared with each other, and those who do not.
        if ((claimed.actor_id !== undefined) === isNamed) told[name] = await workOf(opening, claimed, secret)
      }
      const wrong = told['wrong secret'] as { statements: string[] }
      expect(told).toEqual(Object.fromEntries(Object.keys(told).map((name) => [name, { ...wrong, outcome: 'token_invalid', compared: 1 }])))
      expect(wrong.statements.length).toBeGreaterThan(3)
      expect(await workOf(opening, shown(right), right.client_secret)).toMatchObject({ outcome: 'opened', compared: 1 })
    }
  },
)

test('TI-11 T14 MI-02 whoever shows an operator’s credential is refused after the same reads, whatever is wrong with it', async () => {
  const runtimes = runtimesOn(live)
  const made: (Awaited<ReturnType<typeof operatorWithSecret>> & { id: string })[] = []
  while (made.length < 6) {
    const id = await runtimes.made()
    made.push({ id, ...(await operatorWithSecret(live, id)) })
  }
  const [right, revoked, expired, disabled, deleted, another] = made as [(typeof made)[0], ...typeof made]
  const [by, table] = [seeded.user('ada'), 'shared_runtime_operator_credentials']
  await live.sql(`update ${table} set revoked_at = now(), revoked_by = $2, revoke_reason = 'x' where id = $1`, [revoked!.key_id, by])
  await live.sql(`update ${table} set expires_at = now() where id = $1`, [expired!.key_id])
  const ended = (id: string, state: string, columns: string) =>
    live.sql(`update shared_app_runtimes set state = '${state}', ${columns} where id = $1`, [id])
  await ended(disabled!.id, 'disabled', `disabled_at = now(), disabled_by = '${by}', disable_reason = 'x'`)
  await ended(deleted!.id, 'deleted', `deleted_at = now(), deleted_by = '${by}', delete_reason = 'x'`)
  const work = async (actor_id: string, key_id: string, secret: string) => {
    const { operators, caller, statements } = countingGate()
    let compared = 0
    const verify = operators.verifier(caller, { actor_id, key_id }, (credential) => {
      compared += 1
      return isSecretOf(credential, secret)
    })
    const outcome = await verify(caller.fresh).then(
      () => 'opened',
      (error: unknown) => (error as Problem).code,
    )
    return { outcome, statements, compared }
  }
  const told: Record<string, unknown> = {
    'wrong secret': await work(right.id, right.key_id, newOperatorSecret().reveal()),
    'unknown key': await work(right.id, newId('key'), right.client_secret),
    'unknown runtime': await work(newId('runtime'), newId('key'), right.client_secret),
    'unknown runtime, known key': await work(newId('runtime'), right.key_id, right.client_secret),
    'the credential of another': await work(right.id, another!.key_id, another!.client_secret),
  }
  for (const [what, { id, key_id, client_secret }] of Object.entries({
    revoked: revoked!,
    expired: expired!,
    disabled: disabled!,
    deleted: deleted!,
  }))
    told[what] = await work(id, key_id, client_secret)
  const wrong = told['wrong secret'] as { statements: string[] }
  expect(told).toEqual(Object.fromEntries(Object.keys(told).map((name) => [name, { ...wrong, outcome: 'token_invalid', compared: 1 }])))
  expect(wrong.statements.length).toBeGreaterThan(3)
  expect(await work(right.id, right.key_id, right.client_secret)).toMatchObject({ outcome: 'opened', compared: 1 })
})
