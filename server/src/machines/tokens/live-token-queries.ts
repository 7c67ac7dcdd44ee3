import { actorTypes } from '@gatehouse/contract/operation'
import { Exactly, Nullable, OneOf } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Act } from '#ground/work/work.ts'

const State = Nullable(Type.String())
const Time = Nullable(Type.String())

/** A token as it was issued, and all that can end it before its time, apart from the tokens that it comes from. */
export const FoundToken = Exactly({
  id: Type.String(),
  actor_type: OneOf(actorTypes),
  actor_id: Type.String(),
  credential_id: Nullable(Type.String()),
  parent_id: Nullable(Type.String()),
  act: Nullable(Type.Unsafe<Act>(Type.Any())),
  org_id: Nullable(Type.String()),
  project_id: Nullable(Type.String()),
  /** Of an operator: the one runtime that it operates. */
  shared_runtime_id: Nullable(Type.String()),
  typ: Type.String(),
  kid: Type.String(),
  audience: Type.String(),
  scope: Type.Array(Type.String()),
  cnf_jkt: Nullable(Type.String()),
  epoch: Type.Integer(),
  issued_at: Type.String(),
  expires_at: Type.String(),
  revoked_at: Time,
  /** Some cut-off says: nothing that was issued until then. */
  is_cut_off: Type.Boolean(),
  /** Null where there is no such row any more, or never was. */
  actor_state: State,
  organization_state: State,
  project_state: State,
  has_credential: Type.Boolean(),
  credential_revoked_at: Time,
  credential_expires_at: Time,
})
export type FoundToken = Static<typeof FoundToken>

/**
 * Of several cut-offs the latest counts, so one is enough that lies at or after the time of issue, or reaches up to its number: what was
 * there when it was made is ended by it, whatever the clock said. Those for an actor or a credential are of its organization: an id that means somebody else elsewhere is not meant. Who acts for another is an actor of that token, too.
 */
export const isCutOff = `
    exists (
      select from token_cutoffs c
       where c.subject_id = any (array[t.org_id, t.project_id, t.actor_id, t.credential_id, (t.act ->> 'sub')::uuid])
         and case c.subject_type when 'organization' then c.subject_id = t.org_id when 'project' then c.subject_id = t.project_id
                                 when 'actor' then c.subject_id in (t.actor_id, (t.act ->> 'sub')::uuid)
                                 when 'credential' then c.subject_id = t.credential_id end
         and c.org_id = t.org_id
         and (c.issued_before >= t.issued_at or c.until_number >= t.number))
    or exists (
      select from token_cutoffs c
       where c.subject_id is null and c.subject_type = 'platform' and (c.issued_before >= t.issued_at or c.until_number >= t.number))`

/** The key is of whoever asked for the token: of who acts, or else of the subject. */
export const isOwnKey = `k.service_account_id = coalesce((t.act ->> 'sub')::uuid, t.actor_id)`

export const tokenColumns = sqlPart(`
    t.id, t.actor_type, t.actor_id, t.credential_id, t.parent_id, t.act, t.org_id, t.project_id, t.binding ->> 'shared_runtime_id' as shared_runtime_id, t.typ, t.kid, t.audience, t.scope,
    t.cnf_jkt, t.epoch, t.issued_at, t.expires_at, t.revoked_at,
    (${isCutOff}) as is_cut_off,
    coalesce(s.state, case when r.state in ('disabled', 'deleted') then r.state when r.id is not null then 'active' end) as actor_state,
    o.state as organization_state, p.state as project_state,
    coalesce(k.id, c.id) is not null as has_credential, coalesce(k.revoked_at, c.revoked_at) as credential_revoked_at,
    coalesce(k.expires_at, c.expires_at) as credential_expires_at`)

/** Each class has its actors in a table of its own; of those that have none yet, none is found. */
export const tokenJoins = sqlPart(`
    left join organizations o on o.id = t.org_id and o.deleted_at is null
    left join projects p on p.id = t.project_id and p.org_id = t.org_id
    left join service_accounts s on t.actor_type = 'service_account' and s.id = t.actor_id and s.project_id = t.project_id
    left join service_account_keys k on k.id = t.credential_id and s.id is not null and ${isOwnKey}
    left join shared_app_runtimes r on t.actor_type = 'shared_runtime_operator' and r.id = t.actor_id and r.org_id = t.org_id
    left join shared_runtime_operator_credentials c on c.id = t.credential_id and c.shared_runtime_id = r.id`)

/** Tokens by their ids, each as one of that organization. */
export const tokensBy = (ids: readonly string[], org_ids: readonly (string | null)[]) => sql(
  Exactly({ n: Type.Integer(), ...FoundToken.properties }),
)`
  select asked.n::int as n, ${tokenColumns}
    from unnest(${ids}::uuid[], ${org_ids}::uuid[]) with ordinality as asked (id, org_id, n)
    join issued_tokens t on t.id = asked.id and t.org_id is not distinct from asked.org_id
    ${tokenJoins}`
