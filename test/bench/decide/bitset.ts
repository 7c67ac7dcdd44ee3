import type { Engine } from './engine.ts'
import { givenByRoles, permissionsByRole } from './questions.ts'
import { byPerson } from './store.ts'

const bit = new Map<string, number>(givenByRoles.map((key, index) => [key, index]))
const words = Math.ceil(givenByRoles.length / 32)
const nothing = new Uint32Array(words)

const bitsOf = (roles: readonly string[]): Uint32Array => {
  const bits = new Uint32Array(words)
  for (const role of roles)
    for (const key of permissionsByRole[role] ?? []) {
      const at = bit.get(key)
      if (at !== undefined) bits[at >> 5]! |= 1 << (at & 31)
    }
  return bits
}

/** No engine: the least that could answer, to measure the others by. It says yes or no, and neither why nor by what. */
export const bitset: Pick<Engine, 'name' | 'prepare'> = {
  name: 'bare Map and bitset',
  prepare: async (store) => {
    const people = new Map(
      [...byPerson(await store.everyRole())].map(([id, scopes]) => [
        id,
        new Map([...scopes].map(([scope, roles]) => [scope, bitsOf(roles)])),
      ]),
    )
    return ({ user_id, action, tenant_id, project_id }) => {
      const scopes = people.get(user_id)
      if (!scopes) return false
      const at = bit.get(action)!
      const platform = scopes.get('platform') ?? nothing
      const tenant = (tenant_id !== null && scopes.get(tenant_id)) || nothing
      const project = (project_id !== null && scopes.get(project_id)) || nothing
      return (((platform[at >> 5]! | tenant[at >> 5]! | project[at >> 5]!) >>> (at & 31)) & 1) === 1
    }
  },
}
