/** What docs/evidence/guards.json keeps of a fault: the test that moved, and the test of `npm test` that goes red for it. */
export interface Guarded {
  readonly moved: string
  readonly fault: string
  readonly guard: string
}

export const guardsPath = 'docs/evidence/guards.json'
