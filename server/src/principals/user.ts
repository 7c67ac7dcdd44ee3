import type { User } from '@gatehouse/contract/users'
import { type Kind, nowhere } from '../authz/kind.ts'

/** A person, seen by the platform. */
export const userKind: Kind<User> = {
  type: 'user',
  missing: 'user_not_found',
  placeOf: ({ id }) => ({ ...nowhere, id }),
}
