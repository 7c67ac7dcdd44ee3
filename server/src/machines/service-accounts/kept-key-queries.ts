import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { identifier, sql, sqlPart } from '#ground/db/statement.ts'

// What is the same of keys in every table that has some. A key is called `k`, and the installation `i`.

/** As it is told of one. */
export const stateOfKey = sqlPart(`
  case when k.revoked_at is not null then 'revoked' when k.epoch <> i.epoch then 'ended_by_restore'
       when k.expires_at <= transaction_timestamp() then 'expired' else 'active' end`)

/** Of those that count. */
export const isLiveKey = sqlPart(`
  k.epoch = i.epoch and k.revoked_at is null and (k.expires_at is null or k.expires_at > transaction_timestamp())`)

/** To the minute, and whoever is there first: nobody waits for another to have noted it. */
export const noteUseIn = (
  table: 'service_account_keys' | 'shared_runtime_operator_credentials',
  key_ids: readonly string[],
  now: string,
) => sql(Exactly({ id: Type.String() }))`
  update ${identifier(table)} set last_used_at = date_trunc('minute', ${now}::timestamptz)
   where id in (
     select id from ${identifier(table)}
      where id = any (${key_ids}::uuid[])
        and (last_used_at is null or last_used_at < date_trunc('minute', ${now}::timestamptz))
      order by id
        for no key update skip locked)
  returning id`
