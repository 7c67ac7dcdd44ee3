import { operations } from '@gatehouse/contract/operations'
import { expect, test } from 'vitest'
import type { Asked } from '#ground/work/work.ts'
import { actorClasses, nouns } from '../../rooms.ts'
import { lookedAt, targetOf } from './refused-target.ts'

const id = (digit: number) => `0189000${digit}-0000-7000-8000-000000000000`
const of = (path: string, params: Record<string, string>) => targetOf({ path }, params, nouns)

test('MI-08 AU-01 what a path names last is what was asked about', () => {
  const params = { org_id: id(1), shared_runtime_id: id(2), attachment_id: id(3) }
  const runtime = '/api/v1/orgs/:org_id/shared-app-runtimes/:shared_runtime_id'
  expect(of(runtime, params)).toEqual({ resource_type: 'shared_runtime', resource_id: id(2) })
  expect(of(`${runtime}/attachments/:attachment_id`, params)).toEqual({ resource_type: 'shared_runtime_attachment', resource_id: id(3) })
  expect(of(`${runtime}/operator-credentials/:key_id`, { ...params, key_id: id(4) })).toEqual({
    resource_type: 'operator_credential',
    resource_id: id(4),
  })
  expect(of('/api/v1/projects/:project_id/service-accounts/:service_account_id/keys/:key_id/revoke', { key_id: id(4) })).toEqual({
    resource_type: 'service_account_key',
    resource_id: id(4),
  })
})

test('AU-01 a list is judged as what is on it, and recorded as what it belongs to', () => {
  const seen = (asked: Partial<Asked>) => Object.values(lookedAt(asked as Asked, { id: id(9) }, { nouns, of_class: actorClasses.user }))
  expect(seen({ resource_type: 'allocation', resource_id: id(1), shared_runtime_id: id(1) })).toEqual(['shared_runtime', id(1)])
  expect(seen({ resource_type: 'node', resource_id: 'platform' })).toEqual(['platform', 'platform'])
  expect(seen({ resource_type: 'allocation', resource_id: id(1), shared_runtime_id: id(2) })).toEqual(['allocation', id(1)])
  expect(seen({ resource_type: 'node', resource_id: null })).toEqual(['node', null])
})

test('AU-08 refusal of a creation: nothing was made → the record names where it would lie, by its own kind', () => {
  const seen = (asked: Partial<Asked>) => Object.values(lookedAt(asked as Asked, { id: id(9) }, { nouns, of_class: actorClasses.user }))
  const [tenant_id, project_id] = [id(1), id(2)]
  expect(seen({ resource_type: 'service_account', resource_id: project_id, tenant_id, project_id })).toEqual(['project', project_id])
  expect(seen({ resource_type: 'role', resource_id: tenant_id, tenant_id, project_id: null })).toEqual(['organization', tenant_id])
  expect(seen({ resource_type: 'ssh_key', resource_id: id(9), tenant_id: null, project_id: null })).toEqual(['user', id(9)])
  expect(seen({ resource_type: 'role', resource_id: id(3), tenant_id, project_id })).toEqual(['role', id(3)])
})

test('AU-01 what is no id is the caller’s own text, and names nothing; neither does a path without ids', () => {
  expect(of('/api/v1/orgs/:org_id/policies/:key', { org_id: id(1), key: 'a.b' })).toEqual({
    resource_type: 'organization',
    resource_id: id(1),
  })
  expect(of('/api/v1/nodes/signers/:kid', { kid: id(1) })).toEqual({ resource_type: 'operation', resource_id: null })
  expect(of('/api/v1/users', {})).toEqual({ resource_type: 'operation', resource_id: null })
})

test('MI-08 AU-01 every id that a path can hold is called by its kind', () => {
  const texts = ['key', 'kid']
  const unnamed = operations.flatMap(({ id: asked, path }) =>
    [...path.matchAll(/:(\w+)/g)]
      .map(([, name]) => name!)
      .filter((name) => !texts.includes(name) && of(path, { [name]: id(1) }).resource_id === null)
      .map((name) => `${asked} ${name}`),
  )
  expect(operations.length).toBeGreaterThan(100)
  expect(unnamed).toEqual([])
})
