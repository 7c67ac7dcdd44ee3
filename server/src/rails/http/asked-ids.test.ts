import { createAccessGrant } from '@gatehouse/contract/access-grants'
import { createAllocation, listAllocations } from '@gatehouse/contract/allocations'
import { listPlatformAuditLogs } from '@gatehouse/contract/audit-logs'
import { decideBatch } from '@gatehouse/contract/decisions'
import type { Operation } from '@gatehouse/contract/operation'
import { operations } from '@gatehouse/contract/operations'
import { createServiceAccount } from '@gatehouse/contract/service-accounts'
import { describe, expect, test } from 'vitest'
import { askedIds, askedName, askedWord, idPathsOf } from './asked-ids.ts'
import type { Asking } from './asking.ts'

const id = (digit: number) => `0189000${digit}-0000-7000-8000-000000000000`
const of = (operation: unknown, asking: Partial<Asking>) =>
  askedIds(operation as Operation, { params: {}, query: {}, body: undefined, project_header: undefined, node_protocol: 1, ...asking })

describe('AU-08 ids of a refused request', () => {
  test('AU-08 request: ids in path, body, query and header → each is named as asked', () => {
    expect(of(createAccessGrant, { params: { allocation_id: id(1) }, body: { grantee_user_id: id(2), ssh_key_id: id(3) } })).toEqual({
      asked_allocation_id: id(1),
      asked_grantee_user_id: id(2),
      asked_ssh_key_id: id(3),
    })
    expect(of(createAllocation, { body: { project_id: id(1), name: 'n', ssh_key_ids: [id(2), id(3)] } })).toEqual({
      asked_project_id: id(1),
      asked_ssh_key_ids: [id(2), id(3)],
    })
    expect(of(listAllocations, { query: { project_id: id(1), state: 'active' }, project_header: id(2) })).toEqual({
      asked_project_id: id(1),
      asked_project_header: id(2),
    })
  })

  test('AU-08 audit filters: ids that are taken as texts → named as asked where they are UUIDs, and other texts are not', () => {
    const query = { actor_id: id(1), credential_id: id(2), jti: id(3), resource_id: 'ghsa_secret', action: id(4) }
    expect(of(listPlatformAuditLogs, { query })).toEqual({ asked_actor_id: id(1), asked_credential_id: id(2), asked_jti: id(3) })
  })

  test('AU-08 batch: many questions → the ids of all, each once and a bounded number', () => {
    const questions = Array.from({ length: 200 }, (_, n) => ({
      action: 'project.read',
      actor: { type: 'user', id: id(1) },
      resource: { type: 'project', id: id(2).replace(/0{4}$/, `${n}`.padStart(4, '0')) },
    }))
    const { asked_questions_actor_id, asked_questions_resource_id } = of(decideBatch, { body: { questions } })
    expect(asked_questions_actor_id).toEqual([id(1)])
    expect(asked_questions_resource_id).toHaveLength(50)
  })

  test('TI-18 AU-08 free text: looks like an id → is not recorded, since it may be a secret', () => {
    expect(of(createServiceAccount, { params: { project_id: id(1) }, body: { name: id(2), slug: id(3), reason: id(4) } })).toEqual({
      asked_project_id: id(1),
    })
  })

  test('AU-08 contract: every operation → no two ids of a request have the same name', () => {
    let ids = 0
    for (const { id: asked, params, query, body } of operations) {
      const names = [params, query, body].flatMap((schema) => [...new Set(idPathsOf(schema).map(askedName))])
      expect([asked, names.toSorted()]).toEqual([asked, [...new Set(names)].sort()])
      ids += names.length
    }
    expect(ids).toBeGreaterThan(200)
  })
})

describe('AU-08 words of a refused request', () => {
  test.for(['gpuaas-api', 'billing', 'https://api.example.com/v2', 's3.eu-west-1.example.com', 'urn:example:storage', 'service_account'])(
    'AU-08 %s: the shape of a name → recorded',
    (text) => {
      expect(askedWord(text)).toBe(text)
    },
  )

  test.for([
    ['a secret of ours', 'ghsa_h6yqmG1S8jvI0b2sTq'],
    ['a random text', 'canary3f9a77c0d1e2'],
    ['a token', 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln'],
    ['a UUID', id(1)],
    ['words with blanks', 'my secret'],
    ['a query', 'https://example.com/?token=abc'],
    ['a long text', 'abc-'.repeat(30)],
  ] as const)('TI-18 AU-08 %s: not the shape of a name → withheld', ([, text]) => {
    expect(askedWord(text)).toBe('[withheld]')
  })
})
