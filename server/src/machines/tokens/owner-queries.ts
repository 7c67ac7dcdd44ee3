import { Exactly, OneOf } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'

/** Whose a credential is. */
const Owner = Exactly({ type: OneOf(['service_account', 'shared_runtime_operator']), id: Type.String() })
export type Owner = Static<typeof Owner>

/** In one statement for all classes: which of them a key is of does not show in how long it takes. */
export const ownerOfCredential = (key_id: string) => sql(Owner)`
  select 'service_account' as type, service_account_id as id from service_account_keys where id = ${key_id}
   union all
  select 'shared_runtime_operator', shared_runtime_id from shared_runtime_operator_credentials where id = ${key_id}`
