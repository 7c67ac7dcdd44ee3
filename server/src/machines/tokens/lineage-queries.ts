import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import { most_acting } from './act.ts'
import { isCutOff, isOwnKey } from './live-token-queries.ts'

/** What a token's line says of it: itself, and every token that it comes from, one from the other. */
export const Lineage = Exactly({
  /** How many those are. */
  depth: Type.Integer(),
  /** One of them was ended before its time, by whatever ends a token. */
  is_ended: Type.Boolean(),
  /** When the first of them, or of their keys, comes to its end. */
  ends_at: Nullable(Type.String()),
})
export type Lineage = Static<typeof Lineage>

const isEnded = sqlPart(`
    t.revoked_at is not null or ${isCutOff}
    or k.id is null or k.revoked_at is not null
    or (t.act is not null and acting.state is distinct from 'active')
    or sk.state in ('retired', 'revoked')`)
const ownKey = sqlPart(isOwnKey)

/**
 * The lines of these tokens, in one statement. Subject, project and organization are the same all along a line, so they are looked at once,
 * with the token itself. One that is longer than any that we issue is taken for ended.
 */
export const lineagesOf = (ids: readonly string[]) => sql(Exactly({ id: Type.String(), ...Lineage.properties }))`
  with recursive line as (
    select t.*, t.id as of_id, 0 as n from issued_tokens t where t.id = any (${ids}::uuid[])
     union all
    select t.*, line.of_id, line.n + 1 from line join issued_tokens t on t.id = line.parent_id where line.n <= ${most_acting}::int)
  select t.of_id as id, max(t.n) as depth,
         bool_or(${isEnded} or t.n > ${most_acting}::int) as is_ended,
         min(least(t.expires_at, k.expires_at)) as ends_at
    from line t
    join signing_keys sk on sk.kid = t.kid
    left join service_account_keys k on k.id = t.credential_id and ${ownKey}
    left join service_accounts acting on acting.id = k.service_account_id and acting.project_id = t.project_id
   group by t.of_id`
