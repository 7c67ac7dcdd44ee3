import type { Operation } from '@gatehouse/contract/operation'
import { Problem } from '#ground/kernel/problem.ts'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const most_fields = 100

const refused = (reason: string) => new Problem('invalid_request', { because: reason })

const plain = /^[A-Za-z0-9_.~-]*$/

/**
 * One name or value of a form; what is not percent-encoded UTF-8 is refused, not mended. Nor is it brought to a normal form, as texts are
 * that people write: each is compared with something that has one spelling, and a second one would be a second token, or secret.
 */
export const decodeFormText = (text: string): string => {
  // Most are such, tokens above all.
  if (plain.test(text)) return text
  let decoded: string
  try {
    decoded = decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw refused('the form is not encoded as one')
  }
  if (decoded.includes('\0')) throw refused('a text contains NUL')
  return decoded
}

const textOf = (bytes: Buffer): string => {
  try {
    return decoder.decode(bytes)
  } catch {
    throw refused('the form is not UTF-8')
  }
}

/**
 * The fields of a form that the operation knows, each at most once. A name that comes twice is refused, whether or not it is known: two
 * readers might see two requests. A field without a value is as good as not there.
 */
export const readForm = ({ body }: Operation, bytes: Buffer): Record<string, string> => {
  const { properties = {} } = (body ?? {}) as { properties?: Record<string, unknown> }
  const seen = new Set<string>()
  const fields: Record<string, string> = {}
  const text = textOf(bytes)
  for (const pair of text.split('&')) {
    // As every reader of forms does: between two separators, and behind the last one, there is nothing.
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals))
    if (seen.has(name)) throw refused('a field comes twice')
    if (seen.add(name).size > most_fields) throw refused('too many fields')
    const value = equals < 0 ? '' : decodeFormText(pair.slice(equals + 1))
    if (value !== '' && Object.hasOwn(properties, name)) fields[name] = value
  }
  return fields
}
