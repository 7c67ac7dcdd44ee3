import type { Organization } from '@gatehouse/contract/organizations'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { findOrganization, lockOrganization } from '#people/tenancy/organization-queries.ts'
import type { Action } from '#rails/authz/actions.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import type { RuntimeRow } from './shared-runtime.ts'
import { findRuntime, lockRuntime } from './shared-runtime-queries.ts'

export interface RuntimeParams {
  readonly org_id: string
  readonly shared_runtime_id: string
}

interface Where {
  readonly type?: string | undefined
  readonly id?: string | undefined
  readonly shared_runtime_id?: string
  /** The project that is involved, by what the tables say of it. */
  readonly project_id?: string | null
}

/** Judged by where it would be, before it is known whether it is there. */
export const runtimesOf = ({ type = 'shared_runtime', id, shared_runtime_id, project_id = null }: Where = {}): Kind<Organization> => ({
  type,
  missing: 'organization_not_found',
  placeOf: (organization) => ({
    id: id ?? shared_runtime_id ?? organization.id,
    tenant_id: organization.id,
    project_id,
    shared_runtime_id: shared_runtime_id ?? null,
    relations: [],
  }),
})

const present = (runtime: RuntimeRow | undefined): RuntimeRow => {
  if (!runtime) throw new Problem('shared_runtime_not_found')
  return runtime
}

/** One that is looked at, or what it has of some type; and its organization with the proof. */
export const authorizeToSee = async <A extends Action>(
  work: Work,
  action: A,
  { org_id, shared_runtime_id }: RuntimeParams,
  type?: string,
) => {
  const found = await work.tx.maybe(findOrganization(org_id))
  const organization = await authorize(work, action, runtimesOf({ type, shared_runtime_id }), found)
  return { organization, runtime: present(await work.tx.maybe(findRuntime(organization.id, shared_runtime_id))) }
}

/**
 * A machine is judged once before anything is locked, and then behind the locks as everybody is: by what it may not do it holds up nobody
 * in its tenant.
 */
export const refuseAhead = async <A extends Action>(
  work: Work,
  action: A,
  { org_id }: Pick<RuntimeParams, 'org_id'>,
  whereIn: (organization: Organization | undefined) => Promise<Where>,
): Promise<void> => {
  if (work.actor.type === 'user') return
  const found = await work.tx.maybe(findOrganization(org_id))
  await authorize(work, action, runtimesOf(await whereIn(found)), found)
}

/**
 * One that is changed, by people or by its operator. Its organization is locked already: behind that lock everything changes that a
 * decision about it rests on, so whatever `where` says must have been read after it.
 */
export const authorizeBehindLock = async <A extends Action>(
  work: Work,
  action: A,
  locked: Organization | undefined,
  { shared_runtime_id, ...where }: Where & Pick<RuntimeParams, 'shared_runtime_id'>,
) => {
  const organization = await authorize(work, action, runtimesOf({ ...where, shared_runtime_id }), locked)
  return { organization, runtime: present(await work.tx.maybe(lockRuntime(organization.id, shared_runtime_id))) }
}

/** By those who manage it; or something of its own, by its type and id. */
export const authorizeToManage = async (work: Work, { org_id, shared_runtime_id }: RuntimeParams, type?: string, id?: string) => {
  const locked = await work.tx.maybe(lockOrganization(org_id))
  return authorizeBehindLock(work, 'tenant.shared_runtime.manage', locked, { shared_runtime_id, type, id })
}

/**
 * By its operator, about itself. It asks often, and waits for nobody but those who change this very runtime. Its row is locked first, so
 * that whoever disables it or detaches a project meanwhile is either seen or waits.
 */
export const authorizeToOperate = async <A extends Action>(work: Work, action: A, { org_id, shared_runtime_id }: RuntimeParams) => {
  const found = await work.tx.maybe(findOrganization(org_id))
  const locked = await work.tx.maybe(lockRuntime(org_id, shared_runtime_id))
  const organization = await authorize(work, action, runtimesOf({ shared_runtime_id }), found)
  return { organization, runtime: present(locked) }
}
