import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'

/** Tokens that expired so long ago, but for those of whose exchanges a row is still there. */
export const forgetExpired = (now: string, retention_seconds: number, most: number) => sql(Exactly({ count: Type.Integer() }))`
  with expired as (
    select t.id from issued_tokens t
     where t.expires_at < ${now}::timestamptz - make_interval(secs => ${retention_seconds}::int)
       and not exists (select from issued_tokens c where c.parent_id = t.id)
     limit ${most}::int for update of t skip locked),
  gone as (delete from issued_tokens t using expired e where t.id = e.id returning 1)
  select count(*)::int as count from gone`
