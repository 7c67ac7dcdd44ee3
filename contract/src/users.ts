import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Nullable, Reason } from './shapes.ts'

export const User = Exactly({
  id: Id('user'),
  username: Type.String(),
  email: Nullable(Type.String()),
  disabled_at: Nullable(Instant),
  created_at: Instant,
})
export type User = Static<typeof User>

const Belonging = Exactly({ id: Type.String(), name: Type.String(), slug: Type.String(), roles: Type.Array(Type.String()) })

export const Me = Exactly({
  id: Id('user'),
  username: Type.String(),
  email: Nullable(Type.String()),
  platform_roles: Type.Array(Type.String()),
  organizations: Type.Array(Exactly({ ...Belonging.properties, projects: Type.Array(Belonging) })),
})
export type Me = Static<typeof Me>

export const readMe = operation({
  id: 'me.read',
  method: 'GET',
  path: '/api/v1/me',
  summary: 'Who you are here, and where you belong.',
  actors: ['user'],
  action: 'me.read',
  effect: 'read',
  reply: Me,
  problems: [],
})

const byId = { user_id: Id('user') }

export const listUsers = listOperation({
  id: 'user.list',
  path: '/api/v1/admin/users',
  summary: 'All people known here.',
  actors: ['user'],
  action: 'platform.admin',
  item: User,
  problems: [],
})

export const readUser = operation({
  id: 'user.read',
  method: 'GET',
  path: '/api/v1/admin/users/:user_id',
  summary: 'One person.',
  actors: ['user'],
  action: 'platform.admin',
  effect: 'read',
  params: byId,
  reply: User,
  problems: ['user_not_found'],
})

export const disableUser = operation({
  id: 'user.disable',
  method: 'POST',
  path: '/api/v1/admin/users/:user_id/disable',
  summary: 'Disable a person: every session and token of theirs ends at once.',
  actors: ['user'],
  action: 'platform.admin',
  effect: 'change',
  params: byId,
  body: Exactly({ reason: Reason }),
  reply: User,
  problems: ['user_not_found', 'last_owner', 'state_conflict'],
})

export const enableUser = operation({
  id: 'user.enable',
  method: 'POST',
  path: '/api/v1/admin/users/:user_id/enable',
  summary: 'Enable a disabled person again.',
  actors: ['user'],
  action: 'platform.admin',
  effect: 'change',
  params: byId,
  body: Exactly({ reason: Reason }),
  reply: User,
  problems: ['user_not_found', 'state_conflict'],
})
