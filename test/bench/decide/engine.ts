import type { Question } from './questions.ts'
import type { Store } from './store.ts'

/** One of those compared: with all that it needs at hand, and with nothing but the way to the tables. */
export interface Engine {
  readonly name: string
  readonly prepare: (store: Store, questions: readonly Question[]) => Promise<(question: Question) => boolean>
  readonly cold: (store: Store) => Promise<(question: Question, lane: number) => Promise<boolean>>
}

/** So many questions are under way at once when they are asked of the tables. */
export const lanes = 64
