import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '../db/statement.ts'

const Epoch = Exactly({ id: Type.String(), value: Type.Integer(), stamp: Type.String() })
export type Epoch = Static<typeof Epoch>

/** The epochs of these scopes, and the database's clock; a scope without a row has never changed. */
export const epochsOf = (ids: readonly string[]) => sql(Exactly({ now: Type.String(), epochs: Type.Array(Epoch) }))`
  select transaction_timestamp() as now,
         coalesce((select jsonb_agg(jsonb_build_object('id', e.id, 'value', e.value, 'stamp', e.stamp))
                     from epochs e where e.id = any(${ids}::uuid[])), '[]') as epochs`
