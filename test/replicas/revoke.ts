import type { About, Question } from './asking.ts'

/** How a right ends, and how it is given back. Both are done when they are answered. */
export interface Revoke {
  readonly kind: string
  /** Whom it concerns: the scene's own people and machines, or everybody, so that nothing else can be tried meanwhile. */
  readonly concerns?: 'everybody'
  readonly question: Question | (() => Question)
  readonly revoke: (base: string) => Promise<unknown>
  readonly restore: (base: string) => Promise<unknown>
  /** Allows that may follow on one process all the same. */
  readonly tolerated?: number
  /** Where it is not the person's right but that of a machine, or of the token alone that it holds. */
  readonly machine?: {
    readonly begin: (base: string) => Promise<About>
    readonly is_of_token: boolean
    /** How it learns by itself what it may do, where it may not ask for decisions. */
    readonly asks?: (base: string, about: About) => Promise<boolean | null>
  }
}
