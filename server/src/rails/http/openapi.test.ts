import { oauthErrorsOf } from '@gatehouse/contract/oauth-errors'
import { operations } from '@gatehouse/contract/operations'
import { type ProblemCode, problems } from '@gatehouse/contract/problems'
import { Ajv } from 'ajv'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import product from '../../../../package.json' with { type: 'json' }
import { inlined } from '../../../../test/fuzz/inlined.ts'
import { actorClasses } from '../../rooms.ts'
import { openApiDocument, problemsOf } from './openapi.ts'

interface Described {
  operationId: string
  description: string
  'x-actors': string[]
  'x-actions': string[]
  security: object[]
  parameters: { name: string; in: string; required: boolean; schema: object }[]
  requestBody?: { required: boolean; content: Record<string, { schema: object }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Record<string, unknown> }> }>
}

const document = inlined(openApiDocument(operations, actorClasses))
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, each]) => ({ path, method, ...(each as Described) })),
)
const byId = (id: string) => described.find(({ operationId }) => operationId === id)!

test('HO-04 the document is OpenAPI 3.1 and has every operation once, under its own path and method', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(described.map(({ operationId }) => operationId).sort()).toEqual(operations.map(({ id }) => id).sort())
  for (const { id, path, method } of operations)
    expect(byId(id)).toMatchObject({ path: path.replaceAll(/:(\w+)/g, '{$1}'), method: method.toLowerCase() })
})

describe.for(operations)('$id', (operation) => {
  const { description, parameters, requestBody, responses, path, security, ...extra } = byId(operation.id)

  test('HO-04 states its permission, the actors it admits and that a token is needed', () => {
    for (const action of operation.actions) expect(description).toContain(`\`${action}\``)
    for (const actor of operation.actors) expect(description).toContain(`\`${actor}\``)
    expect(extra['x-actors']).toEqual(operation.actors)
    expect(extra['x-actions']).toEqual(operation.actions)
    const inHeader = { bearer: [{ bearer: [] }], credential: [], client: [{ bearer: [] }], certificate: [{ certificate: [] }] }[
      operation.identified_by
    ]
    expect(security).toEqual([...inHeader, ...(operation.speaks === 'oauth' ? [{ client: [] }, {}] : [])])
    expect(description.includes('allowlist')).toBe(operation.actors.includes('shared_runtime_operator'))
  })

  test('HO-04 has a parameter for every place in its path and no other', () => {
    const places = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(places)
    expect(parameters.filter((each) => each.in === 'path').every(({ required }) => required)).toBe(true)
  })

  test('HO-04 documents every problem it can answer with, under the status of the catalogue', () => {
    const isOAuth = operation.speaks === 'oauth'
    for (const code of problemsOf(operation)) {
      const told = isOAuth ? oauthErrorsOf(code, operation) : [{ status: problems[code].status, error: code }]
      for (const { status, error } of told) expect(responses[status]!.description).toContain(`\`${error}\``)
    }
    for (const [status, { content }] of Object.entries(responses)) {
      if (Number(status) < 300) continue
      expect(content!['application/json']!.schema).toEqual({ $ref: `#/components/schemas/${isOAuth ? 'OAuthError' : 'Problem'}` })
    }
    const mentioned = Object.values(responses).flatMap(({ description: text }) => [...text.matchAll(/`(\w+)`:/g)].map(([, code]) => code!))
    const known: string[] = isOAuth
      ? problemsOf(operation).flatMap((code) => oauthErrorsOf(code, operation).map(({ error }) => error))
      : Object.keys(problems)
    expect(mentioned.filter((code) => !known.includes(code))).toEqual([])
  })

  test('HO-04 has schemas that any JSON Schema reader can compile', () => {
    const ajv = new Ajv({ strict: true, strictTypes: false, formats: { uuid: true, 'date-time': true } })
    for (const { schema } of parameters) ajv.compile(schema)
    const media = operation.speaks === 'oauth' ? 'application/x-www-form-urlencoded' : 'application/json'
    if (requestBody) ajv.compile(requestBody.content[media]!.schema)
    const successes = Object.entries(responses).filter(([status]) => Number(status) < 300)
    expect(successes.map(([status]) => Number(status))).toEqual([
      ...new Set([operation.success_again ?? operation.success, operation.success]),
    ])
    for (const [, success] of successes)
      if (operation.reply) ajv.compile(success.content!['application/json']!.schema)
      else expect(success.content).toBeUndefined()
  })
})

const headersOf = (id: string) =>
  byId(id)
    .parameters.filter((each) => each.in === 'header')
    .map(({ name }) => name)

test('HO-04 DE-14 whoever asks the engine reads what it takes to ask about himself, and what about others', () => {
  for (const id of ['authz.decide', 'authz.decide_batch', 'authz.explain'])
    expect(byId(id).description).toContain(
      '**Permission:** about oneself `me.read`; about others `project.role.read`, or else `tenant.role.read`, or else `platform.authz.evaluate`.',
    )
  // Alternatives that are all about others, or all about oneself, stand as they are.
  expect(byId('me.read').description).toContain('**Permission:** `me.read`.')
  expect(byId('policy.value.list_of_project').description).toContain('**Permission:** `project.policy.read`, or else `tenant.policy.read`.')
})

test('MI-08 MI-10 what is recorded says so: every change, and what is read where an operator reads it', () => {
  const saying = (text: string) => described.filter(({ description }) => description.includes(text)).map(({ operationId }) => operationId)
  const reads = operations.filter(({ effect }) => effect === 'read')
  expect(saying('**Recorded** in the audit log.').sort()).toEqual(
    operations.flatMap(({ id, effect }) => (effect === 'read' ? [] : [id])).sort(),
  )
  const watched = reads.filter(({ actors }) => actors.includes('shared_runtime_operator')).map(({ id }) => id)
  expect(watched).toEqual(
    expect.arrayContaining(['shared_runtime.read', 'shared_runtime.attachment.list', 'shared_runtime.allocation.list']),
  )
  expect(saying('**Recorded** in the audit log each time that an operator').sort()).toEqual(watched.sort())
})

test('MI-10 a client is a service account or the operator of a runtime', () => {
  const { description } = document.components.securitySchemes.client
  expect(description).toContain('service account')
  expect(description).toContain('operator')
})

test('HO-04 the project may be named by a header where the path has none, and where it has one', () => {
  const taking = described.filter(({ operationId }) => headersOf(operationId).includes('X-Project-ID'))
  const isInPath = ({ path }: { path: string }) => path.includes('{project_id}')
  expect(taking.filter((each) => !isInPath(each)).map(({ operationId }) => operationId)).toEqual(['allocation.create', 'allocation.list'])
  expect(taking.filter(isInPath)).toEqual(described.filter(isInPath))
})

test('HO-04 a key for repeats is declared where one is looked at, with its refusals', () => {
  const isKeyed = (id: string) => ['409', '422'].map((status) => byId(id).responses[status]?.description.includes('`idempotency_') ?? false)
  expect([headersOf('node.task.wait'), isKeyed('node.task.wait')]).toEqual([['X-Request-Id'], [false, false]])
  expect([headersOf('node.task.report'), isKeyed('node.task.report')]).toEqual([
    ['X-Request-Id', 'Idempotency-Key'],
    [true, true],
  ])
  // It is accepted there as everywhere; what makes a repeat one is what is sent.
  expect([headersOf('node.enrol'), isKeyed('node.enrol')]).toEqual([
    ['X-Request-Id', 'Idempotency-Key'],
    [false, false],
  ])
  const key = byId('node.enrol').parameters.find(({ name }) => name === 'Idempotency-Key')
  expect(key).toMatchObject({ description: expect.not.stringContaining('24 hours') })
})

test('HO-04 what nodes ask says at which door, and how its caller is known there', () => {
  for (const { id, listener } of operations)
    if (listener === 'nodes')
      expect(byId(id)).toMatchObject({
        servers: [{ url: '{nodes_url}', variables: { nodes_url: { default: 'https://localhost:8093' } } }],
        description: expect.stringContaining('`GATEHOUSE_NODES_URL`'),
      })
    else expect(byId(id)).not.toHaveProperty('servers')
  const missing = byId('node.task.wait').responses['401']!.description
  expect(missing).toBe('`certificate_missing`: A certificate of our authority is required.')
})

test('HO-04 the document says where the API is, the version of the product and an example of every operation', () => {
  expect(document.servers).toEqual([{ url: '/', description: 'Where this document was read.' }])
  expect(document.info.version).toBe(product.version)
  const elsewhere = openApiDocument(operations, actorClasses, 'https://nodes.example:9443')
  expect(JSON.stringify(elsewhere)).toContain('"default":"https://nodes.example:9443"')
  for (const { id, success, reply, body } of operations) {
    const { requestBody, responses, parameters } = byId(id)
    if (reply) expect(Object.values(responses[success]!.content!)[0]).toHaveProperty('example')
    if ((body as { required?: [] } | undefined)?.required) expect(Object.values(requestBody!.content)[0]).toHaveProperty('example')
    for (const each of parameters.filter((one) => one.in === 'path')) expect(each).toHaveProperty('example')
  }
})

test('HO-04 OpenAPI: members called `title` or `example` → described as members, not taken for keywords of a schema', () => {
  const Page = Type.Object({ title: Type.String(), example: Type.Object({ title: Type.String() }, { title: 'Inner' }) }, { title: 'Page' })
  const reply = Type.Object({ title: Type.String(), default: Type.Array(Page) })
  const { paths, components } = openApiDocument([{ ...operations[0]!, reply }], actorClasses)
  const { schema } = (Object.values(Object.values(paths)[0]!)[0] as Described).responses[operations[0]!.success]!.content![
    'application/json'
  ]!
  const text = { type: 'string' }
  expect(schema).toMatchObject({ properties: { title: text, default: { items: { $ref: '#/components/schemas/Page' } } } })
  expect(components.schemas).toMatchObject({
    Page: { properties: { title: text, example: { $ref: '#/components/schemas/Inner' } } },
    Inner: { properties: { title: text } },
  })
})

test('HO-04 the catalogue names codes in snake case, one status each, and says nothing of our insides', () => {
  for (const [code, { status, message }] of Object.entries(problems)) {
    expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
    expect(message).toMatch(/^[A-Z].*\.$/)
    if (code.endsWith('_not_found')) expect(status).toBe(404)
    if (code.endsWith('_already_exists')) expect(status).toBe(409)
  }
})

test.for<[ProblemCode, number]>([
  ['validation_error', 400],
  ['invalid_request', 400],
  ['cursor_invalid', 400],
  ['policy_out_of_bounds', 400],
  ['token_missing', 401],
  ['certificate_missing', 401],
  ['token_invalid', 401],
  ['token_expired', 401],
  ['insufficient_permissions', 403],
  ['last_owner', 409],
  ['not_tenant_member', 409],
  ['role_not_assignable', 409],
  ['credential_already_issued', 409],
  ['idempotency_in_progress', 409],
  ['body_too_large', 413],
  ['unsupported_media_type', 415],
  ['idempotency_key_reused', 422],
  ['rate_limit_exceeded', 429],
  ['policy_unavailable', 503],
  ['dependency_unavailable', 503],
])('HO-04 %s is %d', ([code, status]) => {
  expect(problems[code].status).toBe(status)
})
