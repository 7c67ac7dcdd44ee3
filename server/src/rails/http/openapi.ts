import { OAuthError, oauthErrorsOf } from '@gatehouse/contract/oauth-errors'
import type { Operation } from '@gatehouse/contract/operation'
import { type ProblemCode, problems } from '@gatehouse/contract/problems'
import { ProblemBody } from '@gatehouse/contract/shapes'
import type { TSchema } from 'typebox'
import product from '../../../../package.json' with { type: 'json' }
import type { ActorClasses } from '../authz/actor-class.ts'
import { examples } from './examples.ts'

/** What any operation can answer, whatever it is. */
const always: readonly ProblemCode[] = [
  'validation_error',
  'invalid_request',
  'insufficient_permissions',
  'rate_limit_exceeded',
  'internal_error',
  'policy_unavailable',
  'dependency_unavailable',
]
/** What is said of how the caller shows who he is. A certificate that is nobody's is one without permissions. */
const whoAsks = ({ identified_by }: Operation): readonly ProblemCode[] =>
  identified_by === 'certificate' ? ['certificate_missing'] : ['token_missing', 'token_invalid', 'token_expired', 'proof_invalid']
const withBody: readonly ProblemCode[] = ['body_too_large', 'unsupported_media_type']
const withKey: readonly ProblemCode[] = ['idempotency_in_progress', 'idempotency_key_reused']

/** Every problem an operation may answer with: its own and what the rails may say before it. */
export const problemsOf = (operation: Operation): ProblemCode[] => [
  ...new Set([
    ...always,
    ...whoAsks(operation),
    ...(operation.body ? withBody : []),
    ...(operation.repeated_by === 'key' ? withKey : []),
    ...(operation.is_secret_reply ? (['credential_already_issued'] as const) : []),
    ...operation.problems,
  ]),
]

const codes = (list: readonly string[]) => list.map((code) => `\`${code}\``)

const recorded = ({ effect, actors }: Operation, classes: ActorClasses): string | undefined => {
  if (effect !== 'read') return '**Recorded** in the audit log.'
  const watched = actors.filter((type) => classes[type].reads === 'recorded').map((type) => classes[type].called)
  return watched.length === 0 ? undefined : `**Recorded** in the audit log each time that ${watched.join(' or ')} reads it.`
}

/** The alternatives in their order. What is one's own gives nothing about anybody else, though one of both is enough. */
const permission = ({ actions }: Operation): string => {
  const [own, others] = [actions.filter(isOwn), actions.filter((action) => !isOwn(action))].map((some) => codes(some).join(', or else '))
  return own && others ? `about oneself ${own}; about others ${others}` : own || others!
}
const isOwn = (action: string): boolean => action.startsWith('me.')

const description = (operation: Operation, classes: ActorClasses): string => {
  const { summary, description: more, actors, is_secret_reply, listener } = operation
  return [
    summary,
    more,
    `**Permission:** ${permission(operation)}.`,
    `**Admitted actors:** ${codes(actors).join(', ')}.`,
    ...actors.map((type) => classes[type].describe?.(operation)),
    listener === 'nodes' ? '**Asked** at the nodes’ own door (`GATEHOUSE_NODES_URL`), and nowhere else.' : undefined,
    recorded(operation, classes),
    is_secret_reply ? 'The answer holds a secret: it is shown once and never replayed.' : undefined,
  ]
    .filter((line) => line !== undefined)
    .join('\n\n')
}

const members = (schema: TSchema) => {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, object>; required?: string[] }
  return Object.entries(properties).map(([name, member]) => ({ name, member, isRequired: required.includes(name) }))
}

const repeats = {
  key: 'Same key, same caller, same request: same answer, for 24 hours.',
  request: 'Accepted and not needed: the description says which repeats are answered as before.',
} as const

/** Relative, so that it is right behind any proxy and on any port: a client that reads the document has reached the API. */
const apisDoor = { url: '/', description: 'Where this document was read.' }

const nodesDoor = (nodes_url: string) => ({
  url: '{nodes_url}',
  description: 'The nodes’ own door.',
  variables: { nodes_url: { default: nodes_url, description: 'As `GATEHOUSE_NODES_URL` says.' } },
})

const headers = ({ repeated_by, path, takes_project_header }: Operation) => [
  {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    description: 'The correlation id; made if absent or malformed, echoed always.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$' },
  },
  ...(repeated_by
    ? [
        {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          description: repeats[repeated_by],
          schema: { type: 'string', minLength: 1, maxLength: 128 },
        },
      ]
    : []),
  ...(takes_project_header || path.includes(':project_id')
    ? [
        {
          name: 'X-Project-ID',
          in: 'header',
          required: false,
          description: 'Names the project where nothing else in the request does; else both must agree.',
          schema: { type: 'string', format: 'uuid' },
        },
      ]
    : []),
]

/** In JSON Lines a line is one item. */
const asLines = ({ is_exportable, reply }: Operation) => {
  const { items } = (reply as { properties?: { items?: { items?: object } } }).properties ?? {}
  return is_exportable && items?.items ? { 'application/x-ndjson': { schema: items.items } } : {}
}

const nextCursor = {
  'X-Next-Cursor': { description: 'Of JSON Lines: give it back as `cursor` for the next rows.', schema: { type: 'string' } },
}

/** Under which status and name a problem is told. */
const toldAs = (operation: Operation, code: ProblemCode): readonly { status: number; error: string }[] =>
  operation.speaks === 'oauth' ? oauthErrorsOf(code, operation) : [{ status: problems[code].status, error: code }]

const withExample = (example: unknown) => (example === undefined ? {} : { example })

const answers = (operation: Operation) => {
  const shape = operation.speaks === 'oauth' ? 'OAuthError' : 'Problem'
  const told = problemsOf(operation).flatMap((code) => toldAs(operation, code).map((each) => ({ ...each, code })))
  const refusals = [...Map.groupBy(told, ({ status }) => status)]
    .sort(([a], [b]) => a - b)
    .map(([status, list]) => [
      status,
      {
        description: list.map(({ error, code }) => `\`${error}\`: ${problems[code].message}`).join('\n\n'),
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${shape}` } } },
      },
    ])
  const { reply, success, success_again } = operation
  const good = {
    ...(operation.is_exportable ? { headers: nextCursor } : {}),
    ...(reply
      ? { content: { 'application/json': { schema: reply, ...withExample(examples[operation.id]?.reply) }, ...asLines(operation) } }
      : {}),
  }
  return {
    ...(success_again ? { [success_again]: { description: 'It was there already.', ...good } } : {}),
    [success]: { description: 'Done.', ...good },
    ...Object.fromEntries(refusals),
  }
}

/** Keywords of JSON Schema whose members are schemas under names that we chose: a member called `title` there is no title. */
const mapsOfSchemas = new Set(['properties', 'patternProperties', '$defs'])
/** Keywords whose value is data, whatever its members are called. */
const data = new Set(['example', 'examples', 'default', 'const', 'enum'])

/** What has a title is described once, under that name, and referred to wherever it stands. */
const byReference = (named: Map<string, object>) => {
  const each = (value: object, refer: (name: string, member: unknown) => unknown) =>
    Object.fromEntries(Object.entries(value).map(([name, member]) => [name, refer(name, member)]))
  const inMap = (value: unknown) => (isObject(value) ? each(value, (_, member) => referred(member)) : value)
  const referred = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(referred)
    if (!isObject(value)) return value
    const { title, ...rest } = value as { title?: unknown }
    const schema = each(typeof title === 'string' ? rest : value, (name, member) => {
      if (data.has(name)) return member
      return mapsOfSchemas.has(name) ? inMap(member) : referred(member)
    })
    if (typeof title !== 'string') return schema
    named.set(title, schema)
    return { $ref: `#/components/schemas/${title}` }
  }
  return referred
}
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const tagOf = ({ id }: Operation) => id.split('.')[0]!

const mediaTypes = { json: 'application/json', oauth: 'application/x-www-form-urlencoded' } as const

/** A client may always say in the body who it is. */
const securityOf = ({ identified_by, speaks }: Operation) => [
  ...({ bearer: [{ bearer: [] }], client: [{ bearer: [] }], credential: [], certificate: [{ certificate: [] }] } as const)[identified_by],
  ...(speaks === 'oauth' ? [{ client: [] }, {}] : []),
]

/** The contract as an OpenAPI 3.1 document: derived, never written. */
export const openApiDocument = (operations: readonly Operation[], classes: ActorClasses, nodes_url = 'https://localhost:8093') => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:(\w+)/g, '{$1}')
    const example = examples[operation.id] ?? {}
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: {
        operationId: operation.id,
        tags: [tagOf(operation)],
        summary: operation.summary,
        description: description(operation, classes),
        'x-actors': operation.actors,
        'x-actions': operation.actions,
        'x-effect': operation.effect,
        security: securityOf(operation),
        ...(operation.listener === 'nodes' ? { servers: [nodesDoor(nodes_url)] } : {}),
        parameters: [
          ...members(operation.params).map(({ name, member }) => ({
            name,
            in: 'path',
            required: true,
            schema: member,
            ...withExample(example.params?.[name]),
          })),
          ...members(operation.query).map(({ name, member, isRequired }) => ({ name, in: 'query', required: isRequired, schema: member })),
          ...headers(operation),
        ],
        ...(operation.body
          ? {
              requestBody: {
                required: members(operation.body).some(({ isRequired }) => isRequired),
                content: { [mediaTypes[operation.speaks]]: { schema: operation.body, ...withExample(example.body) } },
              },
            }
          : {}),
        responses: answers(operation),
      },
    }
  }
  const named = new Map<string, object>([
    ['Problem', ProblemBody],
    ['OAuthError', OAuthError],
  ])
  const referred = byReference(named)(paths) as typeof paths
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version: product.version,
      description:
        'Who may do what, in which tenant and project, for how long, and who did: the identity and access control plane of a GPU cloud.',
    },
    servers: [apisDoor],
    paths: referred,
    components: {
      schemas: Object.fromEntries(named),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'Of a person: an access token of the configured identity provider. Of a machine: a token that was issued here.',
        },
        certificate: {
          type: 'mutualTLS',
          description: 'The certificate that our own authority issued to the node; at the nodes’ own door only.',
        },
        client: {
          type: 'http',
          scheme: 'basic',
          description: 'The id of a service account’s key, or of a credential of a shared runtime’s operator, and its secret.',
        },
      },
    },
  }
}
