import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'

/** Which of these nodes still have an identity. */
export const liveNodes = (node_ids: readonly string[]) => sql(Exactly({ id: Type.String() }))`
  select id from nodes where id = any(${node_ids}::uuid[]) and status <> 'retired'`
