import type { Act } from '#ground/work/work.ts'

/** Longer chains than this are no token of ours; policy allows at most as many exchanges. */
export const most_acting = 8

/** The ids in a chain, the latest first. */
export const actorsIn = (act: Act | null | undefined): string[] => (act ? [act.sub, ...actorsIn(act.act)] : [])

/**
 * Who acts when a client exchanges a token of this subject: nobody, as long as only the subject itself did; the client, before all who
 * acted so far. Nobody is ever taken out of the chain, and whoever acts already is not named twice in a row.
 */
export const actingFor = (subject_id: string, so_far: Act | null, client_id: string): Act | null => {
  if (client_id === (so_far?.sub ?? subject_id)) return so_far
  return so_far ? { sub: client_id, act: so_far } : { sub: client_id }
}
