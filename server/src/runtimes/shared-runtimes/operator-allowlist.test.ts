import { readFileSync } from 'node:fs'
import { operation } from '@gatehouse/contract/operation'
import { operations } from '@gatehouse/contract/operations'
import { expect, test } from 'vitest'
import { openApiDocument } from '#rails/http/openapi.ts'
import { inlined } from '../../../../test/fuzz/inlined.ts'
import { actorClasses } from '../../rooms.ts'
import { operatorAccess } from './operator-allowlist.ts'

const runtime = '/api/v1/orgs/:org_id/shared-app-runtimes/:shared_runtime_id'

interface ClaimsShape {
  properties: Record<string, object>
  required: readonly string[]
  additionalProperties: boolean
}

/** What an operator may call, written down by hand from the seeds and the requirement. The code says it by the actors of each operation. */
const allowlist: readonly [method: string, path: string, why: string, delegated?: 'delegated'][] = [
  ['GET', runtime, 'seed 000, allowlist 1; seed 003, 1; MI-04: read the runtime'],
  ['GET', `${runtime}/attachments`, 'seed 000, allowlist 2; MI-04: list attachments'],
  ['GET', `${runtime}/attachments/:attachment_id`, 'seed 000, allowlist 3; MI-04: read attachments'],
  ['PUT', `${runtime}/status`, 'seed 000, allowlist 4; seed 003, 5; MI-04: report runtime status'],
  ['PUT', `${runtime}/members`, 'seed 000, allowlist 4; seed 003, 5; MI-04: report members'],
  ['GET', `${runtime}/members`, 'seed 000, allowlist 4: the report path of members, to see what was last said'],
  ['GET', `${runtime}/allocations`, 'seed 000, allowlist 6; seed 003, 3; MI-04: allocations of attached projects, as far as contributed'],
  ['POST', `${runtime}/credential-deliveries`, 'seed 000, allowlist 5; seed 003, 4; MI-04, MI-11: delivery bound to the runtime'],
  ['POST', '/api/v1/deliveries/unwrap', 'seed 000, allowlist 5; MI-11: the other half of a wrapped delivery'],
  ['POST', `${runtime}/attachments`, 'seed 000, not allowed 2; MI-05: unless delegated', 'delegated'],
  ['DELETE', `${runtime}/attachments/:attachment_id`, 'seed 000, not allowed 2; MI-05: unless delegated', 'delegated'],
  ['POST', '/api/v1/auth/shared-runtime-operator/token', 'TI-01: its credential for a token'],
  ['POST', '/oauth2/token', 'TI-22: the same, in the words of OAuth'],
]
const spelled = (method: string, path: string, is_delegated: boolean) => `${method} ${path}${is_delegated ? ' where delegated' : ''}`
const byHand = allowlist.map(([method, path, , delegated]) => spelled(method, path, delegated === 'delegated')).sort()

test('MI-04 MI-05 operators may call what seeds and requirement name, by hand and one by one, and nothing else', () => {
  const declared = operations
    .flatMap((each) => operatorAccess(each) ?? [])
    .map(({ operation: { method, path }, is_delegated }) => spelled(method, path, is_delegated))
  expect(declared.sort()).toEqual(byHand)
})

test('MI-04 the generated list says the same, a line each', () => {
  const text = readFileSync(new URL('../../../../docs/generated/operator-allowlist.md', import.meta.url), 'utf8')
  const lines = [...text.matchAll(/^\| (GET|PUT|POST|PATCH|DELETE) \| `([^`]+)` \| `[^`]+` \| (always|where delegated) \|$/gm)]
  expect(lines.map(([, method, path, open]) => spelled(method!, path!, open !== 'always')).sort()).toEqual(byHand)
})

test('MI-10 the allowlist stands in the descriptions of the OpenAPI document, and in no other operation’s', () => {
  const { paths } = openApiDocument(operations, actorClasses)
  const told = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, each]) => {
      const line = /^\*\*On the allowlist\*\* of shared-runtime operators, as `[\w.]+`(, where .+ delegated .+)?\.$/m.exec(
        (each as { description: string }).description,
      )
      return line ? [spelled(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ':$1'), line[1] !== undefined)] : []
    }),
  )
  expect(told.sort()).toEqual(byHand)
})

test('MI-10 TI-02 the claims of an operator’s token stand in the document as they are, without a project, and so does who can be an actor', () => {
  const document = inlined(openApiDocument(operations, actorClasses))
  const issued = document.paths['/api/v1/auth/shared-runtime-operator/token'] as unknown as {
    post: { responses: Record<string, { content: Record<string, { schema: { properties: Record<string, ClaimsShape> } }> }> }
  }
  const claims = issued.post.responses['200']!.content['application/json']!.schema.properties.issued_claims_summary!
  const names = ['actor_type', 'aud', 'exp', 'iat', 'iss', 'jti', 'org_id', 'scope', 'shared_runtime_id', 'sub']
  expect([Object.keys(claims.properties).sort(), [...claims.required].sort(), claims.additionalProperties]).toEqual([names, names, false])
  expect(JSON.stringify(claims.properties.actor_type)).toContain('"shared_runtime_operator"')
  const told = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap((each) => (each as { 'x-actors': string[] })['x-actors']),
  )
  expect([...new Set(told)].sort()).toEqual(['node_agent', 'service_account', 'shared_runtime_operator', 'user'])
})

test('MI-05 an operation that admits operators must ask for something that one can have', () => {
  const asked = (action: 'tenant.shared_runtime.manage' | 'shared_runtime.report') =>
    operation({
      ...{ id: 'dummy.read', method: 'GET', path: '/dummy', summary: 'Nothing.', effect: 'read', problems: [] },
      ...{ actors: ['user', 'shared_runtime_operator'], action },
    })
  expect(operatorAccess(asked('shared_runtime.report'))).toMatchObject({ action: 'shared_runtime.report', is_delegated: false })
  expect(() => operatorAccess(asked('tenant.shared_runtime.manage'))).toThrow('asks for nothing that one can have')
})
