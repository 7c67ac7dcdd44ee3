import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '../db/statement.ts'

export const currentGlobalValue = (key: string) => sql(Exactly({ value: Type.Unknown() }))`
  select value from policy_values where key = ${key} and scope_type = 'global' and replaced_at is null`
