import type { Action } from '#rails/authz/actions.ts'
import { type AppliedScope, decide, type TokenBounds } from '#rails/authz/decide.ts'
import { blank, type Facts, nobody } from '#rails/authz/facts.ts'
import { heldAt, type Standing } from '#rails/authz/standing.ts'
import type { AskedActor, PlacedQuestion } from './question.ts'

/** The scopes of which the caller may read something. */
export type Readable = Readonly<Record<AppliedScope, boolean>>

export const everything: Readable = { global: true, tenant: true, project: true }

/** Who has a record: people, service accounts, and the runtimes of operators. */
const recorded: readonly Facts['actor']['type'][] = ['user', 'service_account', 'shared_runtime_operator']
export const hasRecord = ({ type }: Pick<Facts['actor'], 'type'>): boolean => recorded.includes(type)
export const standingIn = (actor: AskedActor, found: Standing | undefined) => (hasRecord(actor) && found ? found : nobody(actor))

/** Wherever a service account lives of which nothing may be told, it is not where the question lies. */
const elsewhere = { tenant_id: 'elsewhere', project_id: 'elsewhere', actions: null } as const
const stranger = ({ type, id }: AskedActor): Standing => ({
  ...blank(id, false),
  ...(type === 'service_account' ? { home: elsewhere } : {}),
})

/** A service account is its project's, a runtime its tenant's: there one may read its record. */
const isAtHome = ({ tenant_id, project_id }: TokenBounds, { place }: PlacedQuestion): boolean =>
  tenant_id === place.tenant_id && (project_id === null || project_id === place.project_id)

/**
 * Whoever may not read that actor's record must not learn from an answer whether there is one, or whether it is disabled: to a tenant, a
 * stranger is somebody without a membership, or a machine that is bound to another place.
 */
export const veiled = (actor: AskedActor, asked: PlacedQuestion, found: Standing | undefined, caller: Facts): Standing => {
  if (!hasRecord(actor) || !found) return stranger(actor)
  // Whoever asks in a project need not be one who reads what its tenant runs.
  if (actor.type === 'shared_runtime_operator' && !isAllowed('tenant.shared_runtime.read', caller)) return stranger(actor)
  const isStranger = found.home ? !isAtHome(found.home, asked) : found.is_disabled && !isAmongKnown(found, caller)
  return isStranger ? stranger(actor) : found
}
/** Nor need he be one who reads its people: those of the project he knows, and all of the tenant if he reads the roles there. */
const isAmongKnown = ({ is_tenant_member, is_project_member }: Standing, caller: Facts): boolean =>
  is_tenant_member && (is_project_member || isAllowed('tenant.role.read', caller))

export const isAllowed = (action: Action, facts: Facts) => decide(action, facts).decision === 'allow'

/** Judged when it is asked for: of most answers there is nothing to hide. */
export const readableTo = (facts: Facts, global: boolean): Readable => ({
  global,
  get tenant() {
    return isAllowed('tenant.role.read', facts)
  },
  get project() {
    return isAllowed('project.role.read', facts)
  },
})

/** The scopes whose rules he may read: also where one of them denies what he asks for himself. */
export const rulesReadableTo = (facts: Facts): Readable => ({
  get global() {
    return isAllowed('platform.admin', facts) || isAllowed('platform.ops.read', facts)
  },
  get tenant() {
    return isAllowed('tenant.policy.read', facts)
  },
  get project() {
    return isAllowed('project.policy.read', facts) || isAllowed('tenant.policy.read', facts)
  },
})

/**
 * To a stranger a tenant is in no state, nor is a project of it: else what he may do wherever he is would tell that it is suspended, and so
 * that it is there.
 */
export const unseen = (standing: Standing, now: string): Standing => {
  const held = heldAt(standing, now)
  const { tenant, project } = held
  if (!tenant.is_suspended && !project.is_archived) return standing
  const comes_to = { ...held, tenant: { ...tenant, is_suspended: false }, project: { ...project, is_archived: false } }
  return { ...standing, comes_to }
}

/** A place that was named and lies nowhere is not there; neither is an organization that nobody has. */
export const isThere = ({ place, asking }: PlacedQuestion, { tenant_state, project_tenant_id }: Standing): boolean => {
  if (asking.length === 1) return true
  return place.project_id === null ? place.tenant_id !== null && tenant_state !== null : project_tenant_id !== null
}
