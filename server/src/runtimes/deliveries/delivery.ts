import { Exactly, Id, Instant, Nullable, OneOf } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import type { Secret } from '#ground/kernel/secret.ts'
import type { Actor, Work } from '#ground/work/work.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

/** One as its table has it, without the hash of its token. */
export const Delivery = Exactly({
  id: Id('delivery'),
  kind: OneOf(['shared_runtime_credential']),
  subject_id: Type.String(),
  org_id: Id('org'),
  project_id: Nullable(Id('project')),
  requester_type: OneOf(['user', 'service_account', 'shared_runtime_operator', 'workload']),
  requester_id: Type.String(),
  ends_at: Instant,
  state: OneOf(['waiting', 'opened', 'revoked']),
})
export type Delivery = Static<typeof Delivery>

/** The proof that somebody may have something delivered, or take it back: which action that is, its owner knows. */
export type Delivering = Authorized<Action, object>

/** What is promised, and to whom. */
export interface Promised extends Pick<Delivery, 'kind' | 'subject_id' | 'org_id' | 'project_id'> {
  readonly requester: Pick<Actor, 'type' | 'id'>
}

/** By what a subject is told of in the record and in the answer; never by its content. */
export interface Described {
  readonly name: string
  readonly version: number
}

/** A subject that stays as it is until this work ends. */
export interface Held extends Described {
  readonly proof: Delivering
  /** Notes that it was delivered, and opens its envelope. */
  readonly take: () => Promise<Secret>
}

/** What the owner of a kind does for its deliveries. */
export interface DeliveryOwner {
  readonly describe: (work: Work, subject_id: string) => Promise<Described | undefined>
  /** Locks what it rests on, in the order of locks, and has it judged; undefined where it is not there to be taken any more. */
  readonly hold: (work: Work, delivery: Delivery) => Promise<Held | undefined>
}
export type DeliveryOwners = Readonly<Record<Delivery['kind'], DeliveryOwner>>
