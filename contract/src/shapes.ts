import Type, { type Static, type TProperties, type TSchema } from 'typebox'
import { ProblemDetails } from './problem-details.ts'

/** An id that knows what it names; the brand exists only in the types. */
export type Id<K extends string> = string & { readonly __names: K }

export const uuidPattern = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
export const Id = <K extends string>(kind: K) =>
  Type.Unsafe<Id<K>>(Type.String({ pattern: uuidPattern, minLength: 36, maxLength: 36, description: `The id of one ${kind} (a UUID).` }))

/** An object with these members and no others: an unknown member is refused, never ignored. */
export const Exactly = <P extends TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false })

/** The same with a name of its own, under which the documents describe it once. */
export const Named = <P extends TProperties>(title: string, properties: P) =>
  Type.Object(properties, { additionalProperties: false, title })

export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])

export const OneOf = <const V extends readonly string[]>(values: V) => Type.Unsafe<V[number]>(Type.String({ enum: [...values] }))

export const Instant = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
  maxLength: 24,
  format: 'date-time',
  description: 'RFC 3339, UTC, with milliseconds.',
})
/** An instant as a caller may write it. Before anything looks at it, it is brought into the form of `Instant`. */
export const GivenInstant = Type.String({
  maxLength: 64,
  format: 'date-time',
  description: 'RFC 3339, with any offset and fraction. It is kept and answered in UTC with milliseconds; what is finer is cut off.',
})

// Control characters are refused everywhere: they have no use in a name and many uses in an attack on a terminal or a log.
// Blanks first, then something visible, then the rest: one way to match only, so that a long text is refused in linear time.
const printable = '^[^\\S\\p{Cc}]*[^\\s\\p{Cc}][^\\p{Cc}]*$'
export const Text = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, pattern: printable, ...(description ? { description } : {}) })

export const Name = Text(100, 'What people call it.')
export const Reason = Text(500, 'Why; kept in the audit record.')
export const Slug = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$',
  description: 'Lower-case letters, digits and inner hyphens.',
})

export const Page = <S extends TSchema>(item: S) =>
  Exactly({ items: Type.Array(item), next_cursor: Nullable(Type.String({ description: 'Give it back as `cursor` for the next page.' })) })

/** The shape of every error body. */
export const ProblemBody = Type.Object({
  code: Type.String(),
  message: Type.String(),
  correlation_id: Type.String(),
  details: Type.Optional(ProblemDetails),
})
export type ProblemBody = Static<typeof ProblemBody>
