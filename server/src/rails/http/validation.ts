import { patternWords } from '@gatehouse/contract/pattern-words'
import type { FieldFault } from '@gatehouse/contract/problem-details'
import { uuidPattern } from '@gatehouse/contract/shapes'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { readInstant } from '#ground/kernel/instants.ts'

/** In the one form into which every readable instant was brought before. */
const isInstant = (text: string): boolean => readInstant(text) === text

const strict = {
  formats: { 'date-time': isInstant },
  allErrors: true,
  strict: true,
  strictTypes: false,
  removeAdditional: false,
  coerceTypes: false,
} as const
const first = new Ajv({ ...strict, allErrors: false })
const all = new Ajv({ ...strict })

/** Whether so many values, at most, stand in what was sent. */
const holdsAtMost = (most: number, value: unknown): boolean => {
  let left = most
  const within = (each: unknown): boolean => {
    left -= 1
    if (left < 0) return false
    return typeof each !== 'object' || each === null || Object.values(each).every(within)
  }
  return within(value)
}

/** Of so much we tell everything that is wrong with it; of more, only what was met first: a refusal must not be dear. */
const toldWhole = 1000

/** Compiled when first needed: together they would take as long as all the rest of a start. A test compiles them all. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema }) => {
  let isValid: ValidateFunction | undefined
  let tellAll: ValidateFunction | undefined
  const validate = (value: unknown): boolean => {
    validate.errors = null
    isValid ??= first.compile(schema)
    if (isValid(value)) return true
    validate.errors = isValid.errors ?? []
    if (!holdsAtMost(toldWhole, value)) return false
    tellAll ??= all.compile(schema)
    tellAll(value)
    validate.errors = tellAll.errors ?? []
    return false
  }
  validate.errors = null as ErrorObject[] | null
  return validate
}

const plainInteger = /^-?(?:0|[1-9]\d{0,14})$/

/**
 * A query string has only texts in it, so its integers must be read out of them; nothing else is ever coerced. Not left to Ajv,
 * which also reads `0x10`, and `Infinity` past the bounds of the schema.
 */
export const readIntegers = (schema: object, query: object): void => {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> }
  for (const [name, value] of Object.entries(query))
    if (properties[name]?.type === 'integer' && typeof value === 'string' && plainInteger.test(value))
      (query as Record<string, unknown>)[name] = Number(value)
}

const mostEntries = 50
const where: Record<string, FieldFault['in']> = { body: 'body', params: 'path', querystring: 'query', headers: 'header' }

/** A word with few digits in it, as names are and secrets are not; also the place in a list. */
const plainName = /^[A-Za-z_-]*(?:\d[A-Za-z_-]*){0,3}$/

/** A name, as it may be told to whoever sent it, and to all who see the answer on its way: one that may be a secret is not repeated. */
export const toldName = (name: string): string => (name.length <= 40 && plainName.test(name) ? name : '[secret]')

/** How an id is asked for, wherever it stands. */
export const wantedId = patternWords[uuidPattern]!
/** How an instant is asked for. */
const wantedInstant = 'must be a time as RFC 3339 writes it, such as 2026-11-18T05:41:25Z or 2026-11-18T06:41:25.5+01:00'
/** A plus sign in an address means a blank, and an offset typed as it is written arrives as `…T10:00:00 02:00`. */
const plusInAddress = '; in an address, write + as %2B'
const isNoId = ({ keyword, params }: ErrorObject): boolean => keyword === 'pattern' && params.pattern === uuidPattern

/** What is wrong with a field, in words of ours where the validator's would not say what is wanted. */
const saidOf = (error: ErrorObject, part: string | undefined): string => {
  if (error.keyword === 'required') return 'is required'
  if (error.keyword === 'additionalProperties') return 'is not known here'
  if (error.keyword === 'enum') return `must be one of: ${(error.params.allowedValues as unknown[]).join(', ')}`
  if (error.keyword === 'format') return part === 'querystring' ? wantedInstant + plusInAddress : wantedInstant
  // Never the expression itself: it is for machines.
  if (error.keyword === 'pattern') return patternWords[error.params.pattern as string] ?? 'has characters that are not allowed here'
  return error.message ?? 'is not valid'
}

/** One entry per field: where it is, and what is expected there. What was sent is not repeated. */
export const validationDetails = (errors: readonly ErrorObject[], part: string | undefined): FieldFault[] => {
  const entries = new Map<string, FieldFault>()
  for (const error of errors) {
    const { instancePath, keyword, params } = error
    const named =
      keyword === 'required' ? params.missingProperty : keyword === 'additionalProperties' ? params.additionalProperty : undefined
    const field = [...instancePath.split('/').slice(1), ...(named === undefined ? [] : [named as string])]
      .map(toldName)
      .join('/')
      .slice(0, 200)
    // That it has not the length of an id is said before that it is none.
    if (!entries.has(field) || isNoId(error))
      entries.set(field, { in: where[part ?? 'body'] ?? 'body', field, message: saidOf(error, part) })
    if (entries.size >= mostEntries) break
  }
  return [...entries.values()]
}
