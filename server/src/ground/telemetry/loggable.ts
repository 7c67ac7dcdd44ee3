const redacted = '[redacted]'
const deepest = 6
const longest = 8000
const mostEntries = 50

/** Names under which a value is never written, however they are spelt. */
const secretName =
  /authorization|cookie|password|passwd|passphrase|secret|token|credential|assertion|signature|(?:^|[^a-z])(?:key|jwt|pem|dpop)$|private_?key|api_?key/i
const isSecretName = (name: string) => secretName.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'))

const cut = (text: string) => (text.length > longest ? `${text.slice(0, longest)}…` : text)

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? cut(value) : undefined)

const said = (members: Record<string, unknown>) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

// A refused value stands in quotes in what PostgreSQL says about bad input, and in what JSON.parse says.
const quotesInput = (error: Error, code: unknown) =>
  error instanceof SyntaxError || (typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code))
const withoutQuotes = (text: string) => text.replaceAll(/"[^"\n]*"/g, '"…"')

/**
 * What a log may hold of an error: what kind it is, where it came from and what caused it. An error of the database also carries the
 * row it is about (`detail`), the statement and its values; those stay out because nothing but this list goes in.
 */
const loggableError = (error: Error, depth = 0): object => {
  const { code, constraint, cause, errors } = error as Error & Record<'code' | 'constraint' | 'errors', unknown>
  const spoken = (text: string | undefined) => (text !== undefined && quotesInput(error, code) ? withoutQuotes(text) : text)
  return said({
    type: textOf(error.name === 'Error' ? error.constructor.name : error.name),
    code: textOf(code),
    constraint: textOf(constraint),
    message: spoken(textOf(error.message)),
    stack: spoken(textOf(error.stack)),
    cause: cause instanceof Error && depth < deepest ? loggableError(cause, depth + 1) : undefined,
    errors:
      Array.isArray(errors) && depth < deepest
        ? errors
            .filter((each) => each instanceof Error)
            .slice(0, 10)
            .map((each) => loggableError(each, depth + 1))
        : undefined,
  })
}

const isPlain = (value: object) => [Object.prototype, null].includes(Object.getPrototypeOf(value))

/** What a log may hold of a value: plain things with plain names. Bytes, foreign objects and whatever has a secret's name do not go in. */
export const loggable = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return cut(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (depth >= deepest) return '[deep]'
  if (value instanceof Error) return loggableError(value, depth)
  if (Array.isArray(value)) return value.slice(0, mostEntries).map((each) => loggable(each, depth + 1))
  if (value instanceof Date) return value
  if (!isPlain(value)) return value.toString === Object.prototype.toString || ArrayBuffer.isView(value) ? '[object]' : cut(String(value))
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, mostEntries)
      .map(([name, member]) => [name, isSecretName(name) ? redacted : loggable(member, depth + 1)]),
  )
}
