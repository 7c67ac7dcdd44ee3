import { linesIn, type Recorded, type Room, rowById } from './room.ts'

export interface Roles {
  /** Who is bound to what; of a custom role also to which version. */
  readonly roles: Set<string>
  readonly definitions: Map<string, { name: string; is_builtin: boolean; version: number; permissions: string; state: string }>
}

const scopeOf = ({ tenant_id, project_id }: Recorded) => project_id ?? tenant_id ?? 'platform'

/** Takes the binding to this role away, whichever version it is of. */
const unbind = (state: Roles, scope: string, principal_id: string, name: string): boolean => {
  const bound = `${scope} ${principal_id} ${name}`
  for (const line of state.roles) if (line === bound || line.startsWith(`${bound}@`)) return state.roles.delete(line)
  return false
}
const define = (state: Roles, { resource_id, metadata }: Recorded): boolean => {
  const known = state.definitions.get(resource_id)
  if ((known?.version ?? 0) !== metadata.version - 1) return false
  const permissions = [...metadata.permissions].sort().join(' ')
  const { name, version } = metadata
  state.definitions.set(resource_id, { name, is_builtin: false, version, permissions, state: known?.state ?? 'active' })
  return true
}
const switchRole = (state: Roles, { resource_id }: Recorded, to: string): boolean => {
  const role = state.definitions.get(resource_id)
  if (!role || role.state === to) return false
  role.state = to
  return true
}

export const roles: Room<Roles> = {
  read: async (sql) => ({
    roles: await linesIn(
      sql,
      `
        select b.scope || ' ' || b.principal_id || ' ' || d.name || case when d.is_builtin then '' else '@' || v.version end as line
          from (select tenant_id::text as scope, principal_id, role_version_id from tenant_role_bindings where deleted_at is null
                union all select project_id::text, principal_id, role_version_id from project_role_bindings where deleted_at is null
                union all select 'platform', p.principal_id, r.current_version_id
                  from platform_role_bindings p join role_definitions r on r.id = p.role_definition_id where p.deleted_at is null) b
          join role_definition_versions v on v.id = b.role_version_id join role_definitions d on d.id = v.role_definition_id`,
    ),
    definitions: await rowById(
      sql,
      `select d.id, d.name, d.is_builtin, v.version, coalesce(d.disable_mode, d.state) as state,
              array_to_string(array(select p.permission_key from role_permissions p where p.role_version_id = v.id order by 1), ' ') as permissions
         from role_definitions d join role_definition_versions v on v.id = d.current_version_id where d.deleted_at is null`,
    ),
  }),
  lines: (state) => [
    ...[...state.roles].map((line) => `role ${line}`),
    ...[...state.definitions].map(
      ([id, { name, version, permissions, state: is }]) => `definition ${id} ${name} ${version} ${is}: ${permissions}`,
    ),
  ],
  steps: {
    'role.create': define,
    'role.update': define,
    'role.delete': (state, { resource_id }) => state.definitions.delete(resource_id),
    'role.disable': (state, row) => switchRole(state, row, row.metadata.mode),
    'role.enable': (state, row) => switchRole(state, row, 'active'),
    'role.upgrade': (state, row) => {
      const { name, from_version, to_version, moved, bindings } = row.metadata
      const on = [...state.roles].filter((line) => line.startsWith(`${scopeOf(row)} `) && line.endsWith(` ${name}@${from_version}`))
      for (const line of on) {
        state.roles.delete(line)
        state.roles.add(line.replace(/@\d+$/, `@${to_version}`))
      }
      return on.length === moved && bindings.length === moved
    },
    'role_binding.create': (state, row) => {
      const { principal_id, role_id, role_name, version, retired } = row.metadata
      if (unbind(state, scopeOf(row), principal_id, role_name) !== Boolean(retired)) return false
      state.roles.add(`${scopeOf(row)} ${principal_id} ${role_name}${state.definitions.get(role_id)?.is_builtin ? '' : `@${version}`}`)
      return true
    },
    'role_binding.end': (state, row) => unbind(state, scopeOf(row), row.metadata.principal_id, row.metadata.role_name),
  },
}
