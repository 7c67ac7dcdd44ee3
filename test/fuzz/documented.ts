import { Ajv } from 'ajv'
import type { Answered } from '../live-server.ts'

type Schema = Record<string, unknown>

export interface Documented {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly parameters: readonly { name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: Schema }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<Record<string, { description: string; content?: Readonly<Record<string, { schema?: Schema }>> }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Documented, 'method' | 'path'>>>>>
  readonly components: { readonly schemas: { readonly Problem: Schema; readonly OAuthError: Schema } }
}

/** Those of the API's door; what nodes ask at theirs is below `/internal`. */
export const documentedOperations = ({ paths }: Document): Documented[] =>
  Object.entries(paths)
    .filter(([path]) => !path.startsWith('/internal/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
    )

const form = 'application/x-www-form-urlencoded'

/** Whether it is asked in the manner of OAuth, and so refuses in it. */
export const isOAuth = ({ requestBody }: Documented): boolean => requestBody?.content[form] !== undefined

export const bodySchemaOf = ({ requestBody }: Documented): Schema | undefined =>
  (requestBody?.content['application/json'] ?? requestBody?.content[form])?.schema

const ajv = new Ajv({ strict: false, validateFormats: false })
const compiled = new WeakMap<object, (value: unknown) => boolean>()
const fits = (schema: Schema, value: unknown): boolean => {
  const check = compiled.get(schema) ?? ajv.compile(schema)
  compiled.set(schema, check as (value: unknown) => boolean)
  return check(value) as boolean
}

/** What an answer does that the document does not say. Empty is what a caller was promised. */
export const faultsOf = ({ components }: Document, documented: Documented, { status, headers, body, text }: Answered): string[] => {
  const { responses } = documented
  const faults: string[] = []
  const promised = responses[status]
  if (status >= 500) faults.push(`${status}: the server is at fault`)
  if (!promised) return [...faults, `${status} is not documented`]
  if (!headers.get('x-request-id')) faults.push('no correlation id')
  const type = (headers.get('content-type') ?? '').split(';')[0]!
  const content = promised.content?.[type]
  if (status < 300) {
    if (!promised.content) return text === '' ? faults : [...faults, 'a body where none is documented']
    if (!content) return [...faults, `${type} is not documented`]
    const values =
      type === 'application/json'
        ? [body]
        : text
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line))
    if (content.schema && !values.every((value) => fits(content.schema!, value))) faults.push('the body is not what its schema says')
    return faults
  }
  if (isOAuth(documented)) {
    if (type !== 'application/json' || !fits({ ...components.schemas.OAuthError, additionalProperties: false }, body))
      return [...faults, 'no error of OAuth']
    return promised.description.includes(`\`${body.error}\``) ? faults : [...faults, `${body.error} is not documented for ${status}`]
  }
  if (type !== 'application/json' || !fits({ ...components.schemas.Problem, additionalProperties: false }, body))
    return [...faults, 'no problem body']
  const { details } = components.schemas.Problem.properties as { details: Schema }
  if (body.details !== undefined && !fits({ ...details, additionalProperties: false }, body.details))
    faults.push('details of another shape')
  if (!promised.description.includes(`\`${body.code}\``)) faults.push(`${body.code} is not documented for ${status}`)
  if (body.correlation_id !== headers.get('x-request-id')) faults.push('two correlation ids')
  if (body.code === 'validation_error' && !(Array.isArray(body.details?.fields) && body.details.fields.length > 0))
    faults.push('no details')
  return faults
}
