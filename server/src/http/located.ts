import { JsonRefused } from '../kernel/json-refused.ts'
import { Problem } from '../kernel/problem.ts'

/** The refusal of a body, with the position where it stops being JSON. What is JSON and refused for another reason has none. */
export const located = (error: Error, bytes: Uint8Array): Error => {
  if (!(error instanceof JsonRefused) || error.position === undefined) return error
  const before = Buffer.from(Buffer.from(bytes).toString('utf8').slice(0, error.position))
  const line_start = before.lastIndexOf('\n') + 1
  const position = { line: before.toString('latin1').split('\n').length, column: before.length - line_start + 1, byte: before.length }
  return new Problem('invalid_request', { because: error.message, position }, error)
}
