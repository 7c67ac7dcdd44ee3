import { expect, test } from 'vitest'
import { lists, nested, pairs, unread } from './pairs.ts'

test('D8 every list is compared with single reads, or says why not', () => {
  const compared = [...pairs, ...nested].map(({ list }) => list.id)
  expect([...compared, ...Object.keys(unread)].sort()).toEqual(lists.map(({ id }) => id).sort())
})

test('D8 the pairs are those that one would find by hand', () => {
  expect(Object.fromEntries([...pairs, ...nested].map(({ list, read }) => [list.id, read.id]))).toEqual({
    'allocation.list': 'allocation.read',
    'node.list': 'node.read',
    'node.task.list': 'node.read',
    'organization.list': 'organization.read',
    'policy.constraint.list_of_organization': 'policy.constraint.read_of_organization',
    'policy.constraint.list_of_platform': 'policy.constraint.read_of_platform',
    'policy.constraint.list_of_project': 'policy.constraint.read_of_project',
    'policy.constraint.list_versions_of_organization': 'policy.constraint.read_of_organization',
    'policy.constraint.list_versions_of_platform': 'policy.constraint.read_of_platform',
    'policy.constraint.list_versions_of_project': 'policy.constraint.read_of_project',
    'project.list': 'project.read',
    'role.list_of_organization': 'role.read_of_organization',
    'role.list_of_project': 'role.read_of_project',
    'role.versions_of_organization': 'role.read_of_organization',
    'role.versions_of_project': 'role.read_of_project',
    'service_account.key.list': 'service_account.read',
    'service_account.list': 'service_account.read',
    'shared_runtime.attachment.list': 'shared_runtime.attachment.read',
    'shared_runtime.list': 'shared_runtime.read',
    'user.list': 'user.read',
  })
})
