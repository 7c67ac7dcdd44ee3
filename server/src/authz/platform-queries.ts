import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '../db/statement.ts'

/**
 * Taken before anybody's authority over the platform is judged and changed, so that two such changes happen one after the other:
 * two superadmins who end each other cannot both succeed.
 */
export const lockPlatform = () => sql(Exactly({ locked: Type.Literal(true) }))`
  select true as locked from pg_advisory_xact_lock(7290433)`
