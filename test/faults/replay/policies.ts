import { canonicalJson } from '@gatehouse/contract/canonical-json'
import type { Recorded, Room } from './room.ts'

export interface Policies {
  /** By scope and key. */
  readonly policies: Map<string, { version: number; value: string }>
  readonly constraints: Map<string, { version: number; document: string }>
}

const policyOf = ({ tenant_id, project_id, metadata }: Recorded) => `${project_id ?? tenant_id} ${metadata.key}`
const writeConstraint = (state: Policies, { resource_id, metadata: { version, reason: _reason, ...document } }: Recorded): boolean => {
  if ((state.constraints.get(resource_id)?.version ?? 0) !== version - 1) return false
  state.constraints.set(resource_id, { version, document: canonicalJson(document) })
  return true
}

export const policies: Room<Policies> = {
  read: async (sql) => {
    const policies = await sql<{ scope: string; key: string; version: number; value: unknown }>(
      `select coalesce(project_id, tenant_id)::text as scope, key, version, value from policy_values where replaced_at is null`,
    )
    const constraints = await sql<{ id: string; version: number; document: object }>(
      `select constraint_id as id, version, jsonb_build_object('scope', scope_type, 'key', key, 'description', description, 'actions', actions,
              'effect', effect, 'condition', condition, 'time_zone', time_zone, 'is_locked', is_locked, 'state', state) as document
         from policy_constraints where replaced_at is null`,
    )
    return {
      policies: new Map(policies.map(({ scope, key, version, value }) => [`${scope} ${key}`, { version, value: canonicalJson(value) }])),
      constraints: new Map(constraints.map(({ id, version, document }) => [id, { version, document: canonicalJson(document) }])),
    }
  },
  lines: (state) => [
    ...[...state.policies].map(([which, { version, value }]) => `policy ${which} ${version} ${value}`),
    ...[...state.constraints].map(([id, { version, document }]) => `constraint ${id} ${version} ${document}`),
  ],
  steps: {
    'policy.constraint.create': writeConstraint,
    'policy.constraint.update': writeConstraint,
    'policy.constraint.delete': (state, { resource_id, metadata }) =>
      state.constraints.get(resource_id)?.version === metadata.version && state.constraints.delete(resource_id),
    'policy.value.set': (state, row) => {
      const { from, to, version } = row.metadata
      if ((state.policies.get(policyOf(row))?.value ?? 'null') !== canonicalJson(from)) return false
      state.policies.set(policyOf(row), { version, value: canonicalJson(to) })
      return true
    },
    'policy.value.remove': (state, row) =>
      state.policies.get(policyOf(row))?.version === row.metadata.version && state.policies.delete(policyOf(row)),
  },
}
