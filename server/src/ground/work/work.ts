import type { ActorType } from '@gatehouse/contract/operation'
import type { ProblemCode } from '@gatehouse/contract/problems'
import type { Tx } from '../db/database.ts'

/** Who acts for somebody else, and for whom in turn: the latest first, as RFC 8693 nests them. */
export interface Act {
  readonly sub: string
  readonly act?: Act
}

/** The token that a machine shows, and how far it reaches. What is null bounds nothing. */
export interface HeldToken {
  readonly jti: string
  readonly tenant_id: string | null
  readonly project_id: string | null
  readonly shared_runtime_id?: string | null
  readonly actions: ReadonlySet<string> | null
  /** Who uses it, where that is not the actor itself; what he does with it is recorded with this. */
  readonly act?: Act
}

export type MachineType = Exclude<ActorType, 'user'>

/**
 * A machine always has a credential, and may show a token that was issued for it. `credential_id` is the id of a service account key or of
 * an operator credential, the serial of a node certificate, or the id of an enrolment.
 */
export interface Machine<C extends MachineType = MachineType> {
  readonly type: C
  readonly id: string
  readonly credential_id: string
  /** The tenant that it lives in, where it lives in one: what it takes is that tenant's, however many machines the tenant has. */
  readonly home_tenant_id?: string | null
  readonly token?: HeldToken
}

/** Who asks. `system` is the product itself: a first sign-in, a cascade, an expiry; its id names which. People have no token of ours. */
export type Actor =
  | {
      readonly type: 'user'
      readonly id: string
      readonly credential_id?: undefined
      readonly home_tenant_id?: undefined
      readonly token?: undefined
    }
  | Machine
  | {
      readonly type: 'system'
      readonly id: string
      readonly credential_id?: undefined
      readonly home_tenant_id?: undefined
      readonly token?: undefined
    }

export type Severity = 'info' | 'warning' | 'high'

/** What happened, before it is a row: who, when and under which correlation id come from the work. */
export interface AuditEvent {
  readonly action: string
  readonly resource_type: string
  readonly resource_id: string | null
  readonly tenant_id: string | null
  readonly project_id: string | null
  readonly result: 'success' | 'denied' | 'failed'
  readonly reason_code: string | null
  readonly severity: Severity
  readonly metadata: Readonly<Record<string, unknown>>
  /** The token that the event is about, where it is not the one that the actor shows: of an issuance, the new one. */
  readonly jti?: string
}

/** What was asked of the engine in this work, and how it answered. */
export interface Asked {
  readonly decision_id: string
  readonly actions: readonly string[]
  readonly resource_type: string
  readonly resource_id: string | null
  readonly tenant_id: string | null
  readonly project_id: string | null
  readonly shared_runtime_id?: string | null
  /** How the actor stood to the resource. */
  readonly relations: readonly string[]
  /** What the row says of itself to rules. */
  readonly attributes?: object
  /** What is said where the caller may not know that the resource exists. */
  readonly missing: ProblemCode
  readonly allowed: boolean
  readonly reason_code: string | null
  /** The actor belongs to the tenant: a refusal is then that tenant's business, otherwise the platform's. */
  readonly is_member: boolean
}

/** That the two places in which a person's platform role can stand do not agree; without a source, that neither is heard. */
export interface PlatformMismatch {
  readonly source: string | null
  readonly users_role: 'admin' | 'user'
  readonly bound_roles: readonly string[]
}

/** What the record of a refusal says beyond what is known of every one: the caller is not told it. */
type RefusedAbout = Pick<AuditEvent, 'resource_type' | 'resource_id' | 'tenant_id' | 'project_id' | 'severity' | 'metadata'>

/** The traces of one work; it outlives a rollback, so that a refusal can still be recorded. */
export interface Trail {
  readonly asked: Asked[]
  readonly events: AuditEvent[]
  /** What is to happen if this work is refused, in the transaction that records the refusal: the work's own is rolled back. */
  readonly on_refusal: ((work: Work) => Promise<void>)[]
  /** By whoever refuses it, where he knows more than the path and the decisions say. */
  refused_about: RefusedAbout | null
  /** The projects of which a list or a look across several has shown something. */
  readonly shown_of: Set<string>
  platform_role: string | null
  /** Of the actor, where an action of the platform was asked about. */
  platform_mismatch: PlatformMismatch | null
}

/** One request's authority: passed explicitly, alive as long as its transaction. */
export interface Work {
  readonly actor: Actor
  readonly correlation_id: string
  /** Where the request came from; null for the product's own doings. */
  readonly source_ip: string | null
  /** The database's time at the start of the transaction; the only clock a verb knows. */
  readonly now: string
  readonly tx: Tx
  readonly trail: Trail
}

/** The work of the product itself; `id` names which of its doings. */
export const systemWork = (tx: Tx, id: string, correlation_id: string): Work => ({
  actor: { type: 'system', id },
  correlation_id,
  source_ip: null,
  now: tx.now,
  tx,
  trail: newTrail(),
})

export const newTrail = (): Trail => ({
  asked: [],
  events: [],
  on_refusal: [],
  refused_about: null,
  shown_of: new Set(),
  platform_role: null,
  platform_mismatch: null,
})
