import { OpsOverview } from '@gatehouse/contract/ops'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'
import { isHeardOf } from '../nodes/node-queries.ts'

const { attention: _, ...counted } = OpsOverview.properties
const Counts = Exactly({
  ...counted,
  /** Without an owner who is not disabled. */
  ownerless_projects: Type.Integer(),
  overdue_tasks: Type.Integer(),
  disabled_builtin_roles: Type.Integer(),
})

/** All of it at one moment, and each table looked at once. A node is unavailable as `admin/nodes` says. */
export const countEverything = () => sql(Counts)`
  select transaction_timestamp() as at,
         (select json_build_object('active', count(*) filter (where state = 'active'), 'suspended', count(*) filter (where state = 'suspended'))
            from organizations where deleted_at is null) as organizations,
         (select json_build_object('active', count(*) filter (where state = 'active'), 'archived', count(*) filter (where state = 'archived'))
            from projects) as projects,
         (select json_build_object('active', count(*) filter (where disabled_at is null), 'disabled', count(disabled_at)) from users) as users,
         (select json_build_object('active', count(*) filter (where n.status = 'active' and n.is_heard),
                                   'unavailable', count(*) filter (where n.status = 'active' and not n.is_heard),
                                   'drained', count(*) filter (where n.status = 'drained'))
            from (select n.status, n.enrolled_at is not null and ${isHeardOf} as is_heard from nodes n) n) as nodes,
         (select json_build_object('queued', count(*) filter (where state = 'queued'), 'dispatched', count(*) filter (where state = 'dispatched'))
            from node_tasks where state in ('queued', 'dispatched')) as node_tasks,
         (select json_build_object('requested', count(*) filter (where state = 'requested'), 'provisioning', count(*) filter (where state = 'provisioning'),
                                   'active', count(*) filter (where state = 'active'), 'releasing', count(*) filter (where state = 'releasing'),
                                   'release_failed', count(*) filter (where state = 'release_failed'))
            from allocations) as allocations,
         (select count(*)::int from projects p join organizations o on o.id = p.org_id and o.deleted_at is null
           where p.state = 'active' and not exists (
             select from project_role_bindings b
               join role_definition_versions v on v.id = b.role_version_id
               join role_definitions d on d.id = v.role_definition_id and d.is_builtin
               join role_permissions r on r.role_version_id = v.id and r.permission_key = 'project.role.assign_any'
               join users u on u.id = b.principal_id and u.disabled_at is null
              where b.project_id = p.id and b.principal_type = 'user' and b.deleted_at is null)) as ownerless_projects,
         (select count(*)::int from node_tasks where state in ('queued', 'dispatched') and expires_at <= transaction_timestamp()) as overdue_tasks,
         (select count(*)::int from role_definitions where is_builtin and state = 'disabled') as disabled_builtin_roles`
