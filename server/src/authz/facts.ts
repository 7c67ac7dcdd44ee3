import type { Actor, Work } from '../work/work.ts'
import { actions, isAction, type Relation, type Tier } from './actions.ts'
import { defaultPlatformRole, highestPlatformRole, isBuiltinRole, permissionsOf, tierOf } from './catalogue.ts'
import type { DecisionInput, Grants } from './decide.ts'
import { userFacts } from './facts-queries.ts'
import type { Place } from './kind.ts'

export interface Facts extends DecisionInput {
  /** The highest platform role, for the record. */
  readonly platform_role: string
  /** A stranger to the tenant may not learn what exists in it. */
  readonly may_know: boolean
}

type BoundRole = { name: string; is_builtin: boolean; state: string; permissions: readonly string[] }

const none: Grants = { allowed: new Set(), by_disabled: new Set() }

/** A custom role can hold only actions of its own tier: what was forced into the table beyond that is not heard. */
const permissionsIn = (tier: Tier, role: BoundRole): Iterable<string> => {
  if (role.is_builtin) return isBuiltinRole(role.name) && tierOf(role.name) === tier ? permissionsOf(role.name) : []
  return role.permissions.filter((key) => isAction(key) && actions[key].tier === tier)
}

const grantsIn = (tier: Tier, roles: readonly BoundRole[]): Grants => {
  const allowed = new Set<string>()
  const by_disabled = new Set<string>()
  for (const role of roles) {
    // An unknown state is not an active one.
    const into = role.state === 'active' ? allowed : by_disabled
    for (const key of permissionsIn(tier, role)) into.add(key)
  }
  return { allowed, by_disabled }
}

/** What is true of an actor whose record is not there: nothing that would allow anything. */
const nobody: Facts = {
  is_actor_disabled: true,
  is_within_token: false,
  platform: none,
  tenant: { ...none, is_member: false, is_suspended: false },
  project: { ...none, is_member: false, is_archived: false },
  relations: new Set(),
  elevation: null,
  constraint: null,
  platform_role: defaultPlatformRole,
  may_know: false,
}

export const readFacts = async (work: Work, place: Place, actor: Actor = work.actor): Promise<Facts> => {
  if (actor.type !== 'user') return nobody
  const row = await work.tx.maybe(userFacts(actor.id, place.tenant_id, place.project_id))
  if (!row) return nobody
  const platform_role = highestPlatformRole(row.platform_roles.map((role) => role.name))
  const relations = new Set<Relation>(place.relations)
  if (row.is_tenant_member) relations.add('belongs_to_tenant')
  if (row.is_project_member) relations.add('belongs_to_project')
  return {
    is_actor_disabled: row.is_disabled,
    is_within_token: true,
    platform: grantsIn('platform', row.platform_roles),
    tenant: { ...grantsIn('tenant', row.tenant_roles), is_member: row.is_tenant_member, is_suspended: isNot('active', row.tenant_state) },
    project: {
      ...grantsIn('project', row.project_roles),
      // A project membership without one of the tenant that owns it cannot exist; if it did, it would count for nothing.
      is_member: row.is_project_member && row.is_tenant_member,
      is_archived: isNot('active', row.project_state),
    },
    relations,
    elevation: null,
    constraint: null,
    platform_role,
    may_know: row.is_tenant_member || platform_role !== defaultPlatformRole,
  }
}

const isNot = (state: string, found: string | null) => found !== null && found !== state
