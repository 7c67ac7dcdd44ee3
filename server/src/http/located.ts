import { malformedAt } from '../kernel/json-position.ts'
import { Problem } from '../kernel/problem.ts'
import { JsonRefused } from '../kernel/strict-json.ts'

/** The refusal of a body, with the position where it stops being JSON. What is JSON and refused for another reason has none. */
export const located = (error: unknown, bytes: Uint8Array): unknown => {
  if (!(error instanceof JsonRefused) || error.member !== undefined) return error
  const position = malformedAt(bytes)
  return position ? new Problem('invalid_request', { because: error.message, position }, error) : error
}
