import { createHash } from 'node:crypto'
import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { seeded } from '../live-server.ts'
import type { RightfulCall } from './rightful-call.ts'
import { runtimeOf } from './shared-runtime-calls.ts'

const { org, user } = seeded

/** A credential of the operator of the runtime of that name; all of them have one secret. */
export const operatorKeyOf = (name: string) => fixedId('operator credential', `sweep ${name}`)
const sweepOperatorSecret = `ghro_${'s'.repeat(49)}`
const salt = Buffer.alloc(16)

/** After the runtimes themselves. */
export const writeOperatorCredentials = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  const names = ['own', 'end', 'foreign']
  await sql(
    `insert into shared_runtime_operator_credentials (id, shared_runtime_id, salt, secret_hash, epoch, created_at, created_by)
     select c.id, c.runtime_id, $4, $5, i.epoch, now(), $3 from unnest($1::uuid[], $2::uuid[]) as c (id, runtime_id) cross join installation i`,
    [
      names.map(operatorKeyOf),
      names.map(runtimeOf),
      user('alice'),
      salt,
      createHash('sha256').update(salt).update(sweepOperatorSecret).digest(),
    ],
  )
}

const because = { reason: 'because' }
const on = (name: string, person = 'adam') => ({ person, params: { org_id: org.aurora, shared_runtime_id: runtimeOf(name) } })

export const onOperatorCredentials: Readonly<Record<string, RightfulCall>> = {
  'shared_runtime.operator_credential.list': on('own'),
  // Making a credential counts as granting.
  'shared_runtime.operator_credential.create': { ...on('own', 'alice'), body: because },
  'shared_runtime.operator_credential.revoke': {
    person: 'adam',
    params: { ...on('end').params, key_id: operatorKeyOf('end') },
    body: because,
  },
  'auth.shared_runtime_operator_token.issue': {
    person: 'adam',
    params: {},
    body: { shared_runtime_id: runtimeOf('own'), key_id: operatorKeyOf('own'), client_secret: sweepOperatorSecret, ...because },
    actor_id: runtimeOf('own'),
  },
  'auth.token.list_of_shared_runtime': on('own'),
}
