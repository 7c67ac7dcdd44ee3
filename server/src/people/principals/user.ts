import type { User } from '@gatehouse/contract/users'
import { type Kind, nowhere, platformKind } from '#rails/authz/kind.ts'

/** A person, seen by the platform. */
export const userKind: Kind<User> = {
  type: 'user',
  missing: 'user_not_found',
  placeOf: ({ id }) => ({ ...nowhere, id }),
}

/** All of them: the platform's, and to rules what each of them is. */
export const usersKind = { ...platformKind, type: userKind.type }
