import * as users from '@gatehouse/contract/users'
import { answer } from '#rails/http/answer.ts'
import { disableUser, type UserDisabling } from './disable-user.ts'
import { enableUser } from './enable-user.ts'
import { listUsers } from './list-users.ts'
import { readMe } from './read-me.ts'
import { readUser } from './read-user.ts'

export const principalRoutes = (onUserDisabling: UserDisabling) => [
  answer(users.readMe, readMe),
  answer(users.listUsers, listUsers),
  answer(users.readUser, readUser),
  answer(users.disableUser, disableUser(onUserDisabling)),
  answer(users.enableUser, enableUser),
]
