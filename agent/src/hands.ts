import type { NodeDescription } from '@gatehouse/contract/node-description'
import type { NodeEvent } from '@gatehouse/contract/node-events'
import type { TaskParams, TaskResult, TaskType } from '@gatehouse/contract/node-tasks'

export type Receipt = NonNullable<TaskResult['receipt']>
/** What the hands have to say of what they did; which generation it was is said by whoever sent them. */
export type Done = Omit<Receipt, 'applied_generation' | 'drift_found'>
/** What ran, or was to run, as an account without anybody having come in for it. */
export type Leftover = NonNullable<Receipt['leftovers']>[number]

export type Ended = NonNullable<Receipt['sessions_ended']>
/** Called with what was ended as soon as it was, so that it is known whatever becomes of the rest. Never rejects. */
export type KeepEnded = (ended: Ended) => Promise<void>

/** The task that an allocation's account is to be like: the latest that was begun. */
export interface Wanted {
  readonly allocation_id: string
  readonly username: string
  readonly type: Exclude<TaskType, 'diag.health_probe'>
  readonly generation: number
  readonly params: Readonly<Record<string, unknown>>
  /** false: it was begun and has perhaps never been written, so that what is found otherwise is nobody's doing. */
  readonly is_written?: boolean
}

/** An account of ours, as the system knows it. */
export interface Managed {
  readonly allocation_id: string
  readonly username: string
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

/** We are stopped amid something long that is gone on with when it is asked for again: it has neither failed nor been done. */
export class Interrupted extends Error {}

/** Why it failed, for a person: the words of what failed underneath, where there are some; the word itself is said beside it. */
export const whyOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  return error instanceof HandsFailed && error.cause instanceof Error ? whyOf(error.cause) : error.message
}

/** Looking after an account, all was done that could be, and something is still other than it should be. */
export class NotRestored extends HandsFailed {}

/**
 * What touches the system. Each is asked for one allocation at a time and must be safe to ask again: after a crash nobody knows how far the
 * last time went. Whether a task may be performed, and in which order, is judged before they are asked. They keep no state of their own.
 */
export interface Hands {
  readonly provisionUser: (params: TaskParams<'allocation.provision_user'>, generation: number) => Promise<Done>
  readonly installKeys: (
    params: TaskParams<'allocation.install_authorized_keys'>,
    generation: number,
    keepEnded?: KeepEnded,
  ) => Promise<Done>
  readonly deprovisionUser: (params: TaskParams<'allocation.deprovision_user'>, generation: number, keepEnded?: KeepEnded) => Promise<Done>
  readonly probe: () => Promise<Done>
  /**
   * Brings back what was changed behind our back, and ends what is past its time. Says whether it found a change; what happened it tells by
   * itself. Asked for each account every few seconds, also while the server cannot be reached, and never while a task of the same
   * allocation is performed. `isPressed`: a task waits for it; what can be told at the next look is left for then.
   */
  readonly drift: (wanted: Wanted, now: Date, keepEnded?: KeepEnded, isPressed?: () => boolean) => Promise<boolean>
  /**
   * Takes away all accounts of ours that are not kept, and what would let anybody into them, whoever made them; returns which. `node_id`: who
   * we are now, null where nobody is to be told.
   */
  readonly putAway: (node_id: string | null, isKept: (account: Managed) => boolean) => Promise<readonly Managed[]>
  /** What the machine has, and where its sshd is reached. */
  readonly describe: () => Promise<NodeDescription>
  /** What of what was asked for the kernel of this machine cannot hold an account to. */
  readonly unenforced: () => readonly string[]
  readonly close: () => Promise<void>
}

export type MakeHands = (tell: Tell) => Promise<Hands>
