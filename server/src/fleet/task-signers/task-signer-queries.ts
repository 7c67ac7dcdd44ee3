import { TaskSigner } from '@gatehouse/contract/node-tasks'
import { SignerVersion as Version } from '@gatehouse/contract/nodes'
import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

const SignerRow = Exactly({ ...Version.properties, certificate: Type.String(), envelope: Type.Unknown() })
export type SignerRow = Static<typeof SignerRow>
export type NewSigner = Pick<SignerRow, 'kid' | 'certificate' | 'envelope'>

type Proof = Authorized<Action, object>

/** Whoever changes which versions there are does it alone. */
export const lockSigners = () => sql(Exactly({ locked: Type.Literal(true) }))`
  select true as locked from pg_advisory_xact_lock(7290436)`

/** Made in the epoch that the installation is in: a restored backup brings none back. */
const ofThisEpoch = sqlPart(`s.state in ('staged', 'active', 'grace') and s.epoch = i.epoch`)

export const activeSigner = () => sql(Exactly({ kid: Type.String(), envelope: Type.Unknown() }))`
  select s.kid, s.envelope from task_signers s cross join installation i where s.state = 'active' and s.epoch = i.epoch`

/** Those that nodes are told of, the oldest first. */
export const toldSigners = () => sql(TaskSigner)`
  select ${columns(TaskSigner, 's')} from task_signers s cross join installation i where ${ofThisEpoch} order by s.version`

export const liveSigners = () => sql(SignerRow)`
  select ${columns(SignerRow, 's')} from task_signers s cross join installation i where ${ofThisEpoch} order by s.version desc`

/** What came back with a backup and stands in the way of what is made now. */
export const signersOfEarlierEpochs = () => sql(SignerRow)`
  select ${columns(SignerRow, 's')} from task_signers s cross join installation i
   where s.state in ('staged', 'active', 'grace') and s.epoch < i.epoch order by s.version`

export const findSigner = (kid: string) => sql(Version)`
  select ${columns(Version)} from task_signers where kid = ${kid}`

export const allSigners = (before: number | null, limit: number) => sql(Version)`
  select ${columns(Version)} from task_signers where ${before}::int is null or version < ${before}::int order by version desc limit ${limit}`

/** No row: somebody else has made one at this very moment. */
export const insertSigner = (_proof: Proof, { kid, certificate, envelope }: NewSigner, state: 'staged' | 'active', now: string) => sql(
  Version,
)`
  insert into task_signers (kid, version, certificate, envelope, epoch, state, created_at, activated_at)
  select ${kid}, coalesce((select max(version) from task_signers), 0) + 1, ${certificate}, ${JSON.stringify(envelope)}::jsonb, i.epoch, ${state},
         ${now}, case when ${state} = 'active' then ${now}::timestamptz end
    from installation i
  on conflict do nothing
  returning ${columns(Version)}`

export const activateSigner = (_proof: Proof, kid: string, now: string) => sql(Version)`
  update task_signers set state = 'active', activated_at = ${now} where kid = ${kid} and state = 'staged' returning ${columns(Version)}`

/** It signs no more. What it signed is believed until the last of it is over; `at_least` covers what is being queued right now. */
export const beginGraceOfSigner = (_proof: Proof, kid: string, at_least: string) => sql(Version)`
  update task_signers s
     set state = 'grace',
         grace_until = greatest(${at_least}::timestamptz,
           (select max(t.expires_at) from node_tasks t where t.kid = s.kid and t.state in ('queued', 'dispatched')))
   where s.kid = ${kid} and s.state = 'active'
  returning ${columns(Version, 's')}`

export const endSigner = (
  _proof: Proof,
  kid: string,
  { state, by, reason, now }: { state: 'retired' | 'revoked'; by: string | null; reason: string; now: string },
) => sql(Version)`
  update task_signers set state = ${state}, ended_at = ${now}, ended_by = ${by}, end_reason = ${reason}
   where kid = ${kid} and state in ('staged', 'active', 'grace')
  returning ${columns(Version)}`
