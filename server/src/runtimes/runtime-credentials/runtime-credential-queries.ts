import { RuntimeCredential } from '@gatehouse/contract/runtime-credentials'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import type { Envelope } from '#ground/custody/envelope.ts'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Managing, RuntimesOf } from '../shared-runtimes/shared-runtime.ts'
import { SealedCredential } from './runtime-credential.ts'

/** What was restored with a backup may have been taken back since: it is not delivered. */
const told = sqlPart(`
  c.id, c.shared_runtime_id, c.name, c.version,
  case when c.state <> 'revoked' and c.epoch <> i.epoch then 'ended_by_restore' else c.state end as state,
  c.created_at, c.created_by, c.delivered_at, c.revoked_at`)
const credentials = sqlPart('shared_runtime_credentials c cross join installation i')

export const credentialsOf = (shared_runtime_id: string, after: string | null, limit: number) => sql(RuntimeCredential)`
  select ${told} from ${credentials}
   where c.shared_runtime_id = ${shared_runtime_id} and (${after}::uuid is null or c.id > ${after}::uuid)
   order by c.id limit ${limit}`

export const findCredential = (id: string) => sql(RuntimeCredential)`
  select ${told} from ${credentials} where c.id = ${id}`

/** Whoever replaces it, takes it back or delivers it does so one after the other. */
export const lockCredential = (shared_runtime_id: string, id: string) => sql(SealedCredential)`
  select ${told}, c.envelope from ${credentials}
   where c.id = ${id} and c.shared_runtime_id = ${shared_runtime_id} for no key update of c`

export const lockCredentialNamed = (shared_runtime_id: string, name: string) => sql(RuntimeCredential)`
  select ${told} from ${credentials}
   where c.shared_runtime_id = ${shared_runtime_id} and c.name = ${name} and c.state <> 'revoked' for no key update of c`

export const countCredentials = (shared_runtime_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from shared_runtime_credentials c join installation i on i.epoch = c.epoch
   where c.shared_runtime_id = ${shared_runtime_id} and c.state <> 'revoked'`

interface NewCredential {
  readonly id: string
  readonly shared_runtime_id: string
  readonly name: string
  readonly envelope: Envelope
}

/** Versions of a name go on counting, also where all before were taken back. */
export const insertCredential = (organization: Managing, made: NewCredential, by: string, now: string) => sql(RuntimeCredential)`
  insert into shared_runtime_credentials (id, shared_runtime_id, org_id, name, version, envelope, epoch, state, created_at, created_by)
  select ${made.id}, ${made.shared_runtime_id}, ${organization.id}, ${made.name},
         1 + coalesce((select max(version) from shared_runtime_credentials where shared_runtime_id = ${made.shared_runtime_id} and name = ${made.name}), 0),
         ${JSON.stringify(made.envelope)}::jsonb, i.epoch, 'active', ${now}, ${by}
    from installation i
  returning id, shared_runtime_id, name, version, state, created_at, created_by, delivered_at, revoked_at`

const Ended = Exactly({ id: Type.String(), name: Type.String(), version: Type.Integer() })

/** Its envelope is gone with it. */
export const revokeCredential = (_proof: Managing, id: string, by: string, reason: string, now: string) => sql(Ended)`
  update shared_runtime_credentials
     set state = 'revoked', envelope = null, revoked_at = ${now}, revoked_by = ${by}, revoke_reason = ${reason}
   where id = ${id} and state <> 'revoked'
  returning id, name, version`

export const revokeCredentialsOf = (_proof: Managing, shared_runtime_id: string, by: string, reason: string, now: string) => sql(Ended)`
  update shared_runtime_credentials
     set state = 'revoked', envelope = null, revoked_at = ${now}, revoked_by = ${by}, revoke_reason = ${reason}
   where shared_runtime_id = ${shared_runtime_id} and state <> 'revoked'
  returning id, name, version`

export const lockCredentialsOf = (shared_runtime_id: string) => sql(Exactly({ id: Type.String() }))`
  select id from shared_runtime_credentials where shared_runtime_id = ${shared_runtime_id} and state <> 'revoked' order by id for no key update`

export const markDelivered = (_proof: RuntimesOf<'shared_runtime.credential.deliver'>, id: string, now: string) => sql(Ended)`
  update shared_runtime_credentials set state = 'delivered', delivered_at = ${now} where id = ${id} and state <> 'revoked'
  returning id, name, version`
