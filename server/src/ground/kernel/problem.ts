import type { FieldFault, ProblemDetails } from '@gatehouse/contract/problem-details'
import { type ProblemCode, problems } from '@gatehouse/contract/problems'

/** A refusal with a name from the catalogue. `details` are for the caller; the cause is for the log only. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly details: ProblemDetails | undefined

  /** A list of faults stands for details that hold nothing else. */
  constructor(code: ProblemCode, details?: ProblemDetails | readonly FieldFault[], cause?: unknown) {
    super(problems[code].message, cause === undefined ? undefined : { cause })
    this.code = code
    this.details = isList(details) ? { fields: [...details] } : details
  }

  get status(): number {
    return problems[this.code].status
  }
}

/** Something could not be had in time, or at all. Why is for the log. */
export const unavailable = (why: string, cause?: unknown): Problem =>
  new Problem('dependency_unavailable', undefined, new Error(why, { cause }))

const isList = (details: ProblemDetails | readonly FieldFault[] | undefined): details is readonly FieldFault[] => Array.isArray(details)
