/**
 * What becomes of a task beside what the node has applied to the same allocation before. Whatever is delivered late, twice or in another
 * order, an older set never takes the place of a newer one. The node keeps the generation also when the account is gone: what was meant
 * for it before must not bring it back.
 */
export type ApplyOrder =
  /** New: it is applied, and its generation is from then on the one that counts. */
  | 'apply'
  /** Applied already: it may be applied again, to the same effect, and is reported as done. */
  | 'again'
  /** A later one is there: nothing is touched, and it is reported as superseded. */
  | 'older'

export const applyOrder = (applied_generation: number | undefined, generation: number): ApplyOrder => {
  if (applied_generation === undefined || generation > applied_generation) return 'apply'
  return generation === applied_generation ? 'again' : 'older'
}
