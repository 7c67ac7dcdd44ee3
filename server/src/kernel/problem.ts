import { type ProblemCode, problems } from '@gatehouse/contract/problems'

/** A refusal with a name from the catalogue. `details` are for the caller; the cause is for the log only. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly details: unknown

  constructor(code: ProblemCode, details?: unknown, cause?: unknown) {
    super(problems[code].message, cause === undefined ? undefined : { cause })
    this.code = code
    this.details = details
  }

  get status(): number {
    return problems[this.code].status
  }
}
