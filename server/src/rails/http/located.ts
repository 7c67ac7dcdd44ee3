import { JsonRefused } from '#ground/kernel/json-refused.ts'
import { Problem } from '#ground/kernel/problem.ts'

/** The refusal of a body, with the position where it stops being JSON. What is JSON and refused for another reason has none. */
export const located = (error: Error, bytes: Uint8Array): Error => {
  if (!(error instanceof JsonRefused) || error.position === undefined) return error
  const before = Buffer.from(bytes).toString('utf8').slice(0, error.position)
  const lines = before.split('\n')
  // In characters, as editors count columns; `byte` counts bytes.
  const column = [...lines.at(-1)!].length + 1
  const position = { line: lines.length, column, byte: Buffer.byteLength(before) }
  return new Problem('invalid_request', { because: error.message, position }, error)
}
