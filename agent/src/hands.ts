import type { NodeEvent } from '@gatehouse/contract/node-events'
import type { TaskParams, TaskResult, TaskType } from '@gatehouse/contract/node-tasks'

export type Receipt = NonNullable<TaskResult['receipt']>
/** What the hands have to say of what they did; which generation it was is said by whoever sent them. */
export type Done = Omit<Receipt, 'applied_generation' | 'drift_found'>

/** The task that an allocation's account is to be like: the latest that was performed in whole. */
export interface Wanted {
  readonly allocation_id: string
  readonly username: string
  readonly type: Exclude<TaskType, 'diag.health_probe'>
  readonly generation: number
  readonly params: Readonly<Record<string, unknown>>
}

/** What happened on the node without having been asked for. */
export type Happening = Omit<NodeEvent, 'event_id' | 'allocation_id'> & { readonly allocation_id: string }
/** Kept before it returns, and told to the control plane when that can be reached. */
export type Tell = (happening: Happening) => Promise<void>

/** Why something could not be done, in a word that the control plane is told: `^[a-z_]{1,63}$`. */
export class HandsFailed extends Error {
  readonly failure: string
  constructor(failure: string, cause?: unknown) {
    super(failure, cause === undefined ? {} : { cause })
    this.failure = failure
  }
}

/**
 * What touches the system. Each is asked for one allocation at a time and must be safe to ask again: after a crash nobody knows how far the
 * last time went. Whether a task may be performed, and in which order, is judged before they are asked. They keep no state of their own.
 */
export interface Hands {
  readonly provisionUser: (params: TaskParams<'allocation.provision_user'>, generation: number) => Promise<Done>
  readonly installKeys: (params: TaskParams<'allocation.install_authorized_keys'>, generation: number) => Promise<Done>
  readonly deprovisionUser: (params: TaskParams<'allocation.deprovision_user'>, generation: number) => Promise<Done>
  readonly probe: () => Promise<Done>
  /**
   * Brings back what was changed behind our back, and ends what is past its time. Says whether it found a change; what happened it tells by
   * itself. Asked for each account every few seconds, also while the server cannot be reached, and never while a task of the same
   * allocation is performed.
   */
  readonly drift: (wanted: Wanted, now: Date) => Promise<boolean>
  readonly close: () => Promise<void>
}

export type MakeHands = (tell: Tell) => Promise<Hands>
