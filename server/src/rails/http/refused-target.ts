import type { Operation } from '@gatehouse/contract/operation'
import { uuidPattern } from '@gatehouse/contract/shapes'
import type { Actor, Asked, Work } from '#ground/work/work.ts'
import { projectInTenant, tenantOfOperator } from './refused-target-queries.ts'

type Params = Readonly<Record<string, string>>
const isId = new RegExp(uuidPattern)

/** Of a path, what can only be an id: whatever else stands there is the caller's own text, and may be a secret. */
const idsIn = (params: Params): Params => Object.fromEntries(Object.entries(params).filter(([, value]) => isId.test(value)))

/** What the record calls that which an id of a path names. */
const kinds: Readonly<Record<string, string>> = {
  allocation_id: 'allocation',
  attachment_id: 'shared_runtime_attachment',
  binding_id: 'role_binding',
  constraint_id: 'policy_constraint',
  credential_id: 'shared_runtime_credential',
  grant_id: 'access_grant',
  invitation_id: 'invitation',
  node_id: 'node',
  org_id: 'organization',
  project_id: 'project',
  role_id: 'role',
  service_account_id: 'service_account',
  shared_runtime_id: 'shared_runtime',
  ssh_key_id: 'ssh_key',
  task_id: 'node_task',
  user_id: 'user',
}
/** Two kinds have keys. */
const kindOf = (name: string, path: string): string | undefined => {
  if (name !== 'key_id') return kinds[name]
  return path.includes(':shared_runtime_id') ? 'operator_credential' : 'service_account_key'
}

/**
 * What a decision was about, for the record. A list and a creation are judged as what is on the list or would be made, in the place where
 * that lies; of those the record names the place, which exists.
 */
export const lookedAt = (
  { resource_type, resource_id, tenant_id, project_id, shared_runtime_id }: Asked,
  actor: Pick<Actor, 'type' | 'id'>,
): Pick<Asked, 'resource_type' | 'resource_id'> => {
  const places = [
    ['platform', 'platform'],
    ['shared_runtime', shared_runtime_id],
    ['project', project_id],
    ['organization', tenant_id],
    ['user', actor.type === 'user' ? actor.id : null],
  ] as const
  const [place] = places.find(([, id]) => typeof id === 'string' && id === resource_id) ?? [resource_type]
  return { resource_type: place, resource_id }
}

/** What was asked about, by the last id in the path: for what was refused before anything was judged. */
export const targetOf = ({ path }: Pick<Operation, 'path'>, params: Params) => {
  const ids = idsIn(params)
  const named = [...path.matchAll(/:(\w+)/g)].flatMap(([, name]) => {
    const [resource_type, resource_id] = [kindOf(name!, path), ids[name!]]
    return resource_type && resource_id ? [{ resource_type, resource_id }] : []
  })
  return named.at(-1) ?? { resource_type: 'operation', resource_id: null }
}

const isOperator = ({ type }: Work['actor']): boolean => type === 'shared_runtime_operator'

/** Where a machine lives; null of whoever lives nowhere, or is not asked. */
const homeOf = async ({ tx, actor }: Work): Promise<string | null> => {
  if (actor.token) return actor.token.tenant_id
  return (isOperator(actor) ? await tx.maybe(tenantOfOperator(actor.id)) : undefined)?.org_id ?? null
}

/**
 * Whose business a refusal is: of whom the judged thing is, if the actor belongs there. A machine's is its own tenant's, unless what it asked for
 * is another's; or is nobody's, for a tenant must not learn from its own record which of the two it was.
 */
export const placeOf = async (work: Work, { org_id, project_id }: Params, judged: Asked | undefined) => {
  const platforms = { tenant_id: null, project_id: null }
  if (judged?.is_member) return { tenant_id: judged.tenant_id, project_id: judged.project_id }
  const home = await homeOf(work)
  if (home === null) return platforms
  if (judged?.tenant_id === home) return { tenant_id: home, project_id: judged.project_id }
  const named = project_id !== undefined && (await work.tx.maybe(projectInTenant(project_id, home)))
  const isAtHome = judged === undefined && (org_id === undefined || org_id === home) && (project_id === undefined || named)
  // What an operator was refused is its own tenant's business, wherever it knocked.
  if (!isAtHome && !isOperator(work.actor)) return platforms
  return { tenant_id: home, project_id: named ? named.id : null }
}
