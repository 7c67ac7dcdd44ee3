import type { Organization } from '@gatehouse/contract/organizations'
import { Exactly, Instant, Nullable } from '@gatehouse/contract/shapes'
import { SharedRuntime } from '@gatehouse/contract/shared-runtimes'
import Type, { type Static } from 'typebox'
import type { Severity, Work } from '#ground/work/work.ts'
import type { Action } from '#rails/authz/actions.ts'
import { type Authorized, authorityOf } from '#rails/authz/authorize.ts'
import { grantSeverity } from '#rails/authz/override-limits.ts'

/** One as its table has it. */
export const RuntimeRow = Exactly({
  ...SharedRuntime.properties,
  members_sequence: Type.Integer(),
  members_reported_at: Nullable(Instant),
  cursor_version: Type.Integer(),
})
export type RuntimeRow = Static<typeof RuntimeRow>

/** What is told of it. */
export const shownRuntime = ({ members_sequence: _m, members_reported_at: _r, cursor_version: _a, ...told }: RuntimeRow): SharedRuntime =>
  told

/** The organization, and the proof that something may be done there to its shared runtimes, or to one of them. */
export type RuntimesOf<A extends Action> = Authorized<A, Organization>
export type Managing = RuntimesOf<'tenant.shared_runtime.manage'>

/** Rooms above, and verbs of other nouns here, that must act in the same transaction when a runtime rests or ends. */
export interface RuntimeSubscribers {
  readonly onRuntimeDisabled: readonly ((work: Work, organization: Managing, runtime: RuntimeRow, reason: string) => Promise<void>)[]
  readonly onRuntimeDeleted: readonly ((work: Work, organization: Managing, runtime: RuntimeRow, reason: string) => Promise<void>)[]
}

/** What a record says of where; what the platform did in a tenant stands out in that tenant's own log. */
export const recordedIn = (
  organization: RuntimesOf<Action>,
  project_id: string | null = null,
): { tenant_id: string; project_id: string | null; severity: Severity } => ({
  tenant_id: organization.id,
  project_id,
  severity: grantSeverity(authorityOf(organization)),
})
