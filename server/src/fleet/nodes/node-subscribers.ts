import type { Work } from '#ground/work/work.ts'

type Hearing<Said extends readonly unknown[]> = (work: Work, node: { readonly id: string }, ...said: Said) => Promise<void>

/** Rooms above that must act in the same transaction when a node's identity begins anew or ends. */
export interface NodeSubscribers {
  /** They lock what lies on it, which comes before the node itself. */
  readonly beforeNodeLocked: readonly Hearing<[]>[]
  /** Perhaps not for the first time, and then perhaps another machine than before. */
  readonly onNodeEnrolled: readonly Hearing<[]>[]
  /** It says something else of its devices, or speaks another protocol: what was sent to it may not be what it is to do. */
  readonly onNodeDescribed: readonly Hearing<[]>[]
  readonly onNodeRetired: readonly Hearing<[reason: string]>[]
}
