import type { Work } from '../work/work.ts'

/** Rooms above that must act in the same transaction when a node's identity ends. */
export interface NodeSubscribers {
  readonly onNodeRetired: readonly ((work: Work, node: { readonly id: string }, reason: string) => Promise<void>)[]
}
