import type { Room } from './room.ts'

export interface CutOffs {
  /** Cut-offs by what they are of, and the tokens that were revoked one by one. */
  readonly cutoffs: Map<string, number>
}

export const cutOff = (state: CutOffs, line: string): true => {
  state.cutoffs.set(line, line.startsWith('token ') ? 1 : (state.cutoffs.get(line) ?? 0) + 1)
  return true
}

export const cutOffs: Room<CutOffs> = {
  read: async (sql) => {
    const cutoffs = await sql<{ line: string; n: number }>(
      `select concat_ws(' ', subject_type, subject_id) as line, count(*)::int as n from token_cutoffs group by 1
       union all select 'token ' || id, 1 from issued_tokens where revoked_at is not null`,
    )
    return {
      cutoffs: new Map(cutoffs.map(({ line, n }) => [line, n])),
    }
  },
  lines: (state) => [...state.cutoffs].map(([line, n]) => `cut-offs of ${line}: ${n}`),
  steps: {
    'auth.token.revoke': (state, { metadata: { subject_type, subject_id } }) =>
      cutOff(state, [subject_type, ...(subject_id === null ? [] : [subject_id])].join(' ')),
  },
}
