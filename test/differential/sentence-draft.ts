import type { Question } from './question.ts'
import { noRows, type Rows } from './rows.ts'
import type { Builtins } from './worlds.ts'

export const now = '2026-06-01T12:00:00.000Z'
export type Draft = ReturnType<typeof draftOf>

/** A member of tenant and project without a role, who asks to create an allocation. */
export const draftOf = (index: number, builtins: Builtins) => {
  const id = (name: number) => `${index.toString(16).padStart(8, '0')}-0000-8000-8000-${name.toString(16).padStart(12, '0')}`
  const [actor, tenant, project, other] = [id(1), id(2), id(3), id(4)]
  const rows: Rows = {
    ...noRows(),
    users: [{ id: actor, role: 'user', disabled_at: null }],
    organizations: [{ id: tenant, state: 'active', deleted_at: null }],
    projects: [{ id: project, org_id: tenant, state: 'active' }],
    tenant_memberships: [{ id: id(5), tenant_id: tenant, user_id: actor, deleted_at: null }],
    project_memberships: [{ id: id(6), project_id: project, user_id: actor, deleted_at: null }],
  }
  const question: Question = {
    ...{ id: index, actor_id: actor, action: 'allocation.create', resource_type: 'allocation', resource_id: null, tenant_id: tenant },
    ...{ project_id: project, attributes: {}, token: null, elevations: [], now },
  }
  const bound = { principal_id: actor, expires_at: null, deleted_at: null }
  let made = 16
  const next = () => {
    made += 1
    return id(made)
  }
  return {
    ...{ actor, tenant, project, other, rows, question },
    asks: (action: string, changed: Partial<Question> = {}) => Object.assign(question, { action }, changed),
    tenantRole: (name: string) =>
      rows.tenant_role_bindings.push({ ...bound, id: next(), tenant_id: tenant, role_version_id: builtins.get(name)!.version }),
    projectRole: (name: string) =>
      rows.project_role_bindings.push({
        ...{ ...bound, id: next(), project_id: project, principal_type: 'user', role_version_id: builtins.get(name)!.version },
      }),
    platformRole: (name: string) =>
      rows.platform_role_bindings.push({
        ...{ id: next(), principal_id: actor, role_definition_id: builtins.get(name)!.definition, deleted_at: null },
      }),
    /** The actor is a service account. */
    robot: (role?: string, changed: Partial<Rows['service_accounts'][number]> = {}) => {
      question.actor_type = 'service_account'
      rows.service_accounts.push({ id: actor, org_id: tenant, project_id: project, state: 'active', ...changed })
      if (role === undefined) return
      const role_version_id = builtins.get(role)!.version
      rows.project_role_bindings.push({ ...bound, id: next(), project_id: project, principal_type: 'service_account', role_version_id })
    },
    /** The actor is the operator of a runtime, and asks about that. */
    operator: (action: string, changed: Partial<Rows['shared_app_runtimes'][number]> = {}, project_id: string | null = null) => {
      const own = { id: actor, org_id: tenant, state: 'running' as const, delegated_actions: [], eligible_project_ids: [] }
      rows.shared_app_runtimes.push({ ...own, ...changed })
      const actor_type = 'shared_runtime_operator'
      return Object.assign(question, { actor_type, action, resource_type: 'shared_runtime', resource_id: actor, project_id })
    },
    /** A project role of one's own, bound to its first version. */
    custom: (keys: string[], changed: Partial<Rows['role_definitions'][number]> = {}) => {
      const [definition, version] = [next(), next()]
      rows.role_definitions.push({
        ...{ id: definition, scope_type: 'project', tenant_id: null, project_id: project, name: 'custom', state: 'active' },
        ...{ current_version_id: version, deleted_at: null, ...changed },
      })
      rows.role_definition_versions.push({ id: version, role_definition_id: definition, version: 1 })
      for (const permission_key of keys) rows.role_permissions.push({ role_version_id: version, permission_key })
      rows.project_role_bindings.push({ ...bound, id: next(), project_id: project, principal_type: 'user', role_version_id: version })
    },
    rule: (condition: object, changed: Partial<Rows['policy_constraints'][number]> = {}) =>
      rows.policy_constraints.push({
        ...{ constraint_id: next(), version: 1, key: `k${made}`, scope_type: 'tenant', tenant_id: tenant, project_id: null },
        ...{ actions: ['allocation.*'], condition, time_zone: 'UTC', is_locked: false, state: 'active', replaced_at: null, ...changed },
      }),
    elevation: (changed: Partial<Question['elevations'][number]> = {}) =>
      question.elevations.push({
        ...{ id: next(), scope: 'tenant', tenant_id: tenant, project_id: null, actions: [question.action] },
        ...{ starts_at: '2026-06-01T11:00:00Z', ends_at: '2026-06-01T13:00:00Z', ...changed },
      }),
  }
}

export const inProject = (d: Draft) => ({ scope_type: 'project' as const, tenant_id: null, project_id: d.project })
