import { type Room, rowById, type Step } from './room.ts'

export interface Principals {
  readonly users: Map<string, { is_disabled: boolean }>
}

const turn =
  (to: boolean): Step<Principals> =>
  (state, { resource_id }) => {
    const one = state.users.get(resource_id)
    if (!one || one.is_disabled === to) return false
    one.is_disabled = to
    return true
  }

export const principals: Room<Principals> = {
  read: async (sql) => ({
    users: await rowById(sql, 'select id, disabled_at is not null as is_disabled from users'),
  }),
  lines: (state) => [...state.users].map(([id, { is_disabled }]) => `user ${id} ${is_disabled ? 'disabled' : 'active'}`),
  steps: {
    'user.create': (state, { resource_id }) => {
      if (state.users.has(resource_id)) return false
      state.users.set(resource_id, { is_disabled: false })
      return true
    },
    'user.disable': turn(true),
    'user.enable': turn(false),
  },
}
