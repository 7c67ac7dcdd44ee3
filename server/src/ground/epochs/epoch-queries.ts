import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '../db/statement.ts'

export interface Epoch {
  readonly id: string
  readonly value: number
  readonly stamp: string
}

/** Made once: no other statement is asked as often. */
const Read = Exactly({ now: Type.String(), epochs: Nullable(Type.String()) })

/**
 * The epochs of these scopes, and the database's clock; a scope without a row has never changed. As one text, which both sides make and
 * read in half the time of JSON.
 */
export const epochsOf = (ids: readonly string[]) => sql(Read)`
  select transaction_timestamp() as now,
         (select string_agg(concat_ws(' ', e.id, e.value, e.stamp), ',') from epochs e where e.id = any(${`{${ids.join()}}`}::uuid[])) as epochs`
