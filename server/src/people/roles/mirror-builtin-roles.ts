import { builtinRoleNames, isForServiceAccounts, permissionsOf, roleIdOf, roleVersionIdOf, tierOf } from '#rails/authz/catalogue.ts'

/**
 * Writes the built-in roles' anchors and the mirror of their permissions. Decisions read the code, never this mirror: it exists
 * so that foreign keys have something to point at and people something to query. Whether a role is disabled is not the code's to say.
 */
export const mirrorBuiltinRoles = async (run: (text: string, values?: unknown[]) => Promise<unknown>): Promise<void> => {
  for (const name of builtinRoleNames) {
    const [role, version] = [roleIdOf(name), roleVersionIdOf(name)]
    await run(
      `insert into role_definitions (id, scope_type, name, is_builtin, is_assignable_to_service_accounts, current_version_id, created_at)
       values ($1, $2, $3, true, $4, $5, now())
       on conflict (id) do update set scope_type = excluded.scope_type, name = excluded.name, current_version_id = excluded.current_version_id,
         is_assignable_to_service_accounts = excluded.is_assignable_to_service_accounts`,
      [role, tierOf(name), name, isForServiceAccounts(name), version],
    )
    await run(
      `insert into role_definition_versions (id, role_definition_id, version, created_at) values ($1, $2, 1, now()) on conflict (id) do nothing`,
      [version, role],
    )
    const keys = [...permissionsOf(name)].sort()
    await run('delete from role_permissions where role_version_id = $1 and permission_key <> all($2::text[])', [version, keys])
    await run(
      `insert into role_permissions (role_version_id, permission_key) select $1, key from unnest($2::text[]) as key on conflict do nothing`,
      [version, keys],
    )
  }
}
