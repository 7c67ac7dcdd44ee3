import { expect, test } from 'vitest'
import { decide } from '#rails/authz/decide.ts'
import { type Given, inputOf } from '../../../../cases/decision-case.ts'
import type { Judged } from './judge-questions.ts'
import { permittedIn } from './permitted.ts'

const permitted = (given: Given) => {
  const facts = inputOf('storage.read', given) as Judged['facts']
  return permittedIn({ asked: { action: 'storage.read' }, facts, decision: decide('storage.read', facts) } as unknown as Judged)
}
const viewer: Given = { tenant: { is_member: true }, project: { is_member: true, roles: ['project_viewer'] } }
const lifted: Given = { ...viewer, elevations: [{ scope: 'project' }] }
const always = { scope: 'project' } as const
const ofBuckets = { ...always, condition: { in: { resource_type: ['bucket'] } } }

test('DE-10 DE-23 what a rule denies for one type of resource is permitted perhaps, and what it denies for all of them never', () => {
  expect(permitted(viewer)).toBe('always')
  expect(permitted({ ...viewer, constraints: [ofBuckets] })).toBe('perhaps')
  expect(permitted({ ...viewer, constraints: [{ ...always, condition: { in: { resource_type: ['project'] } } }] })).toBe('perhaps')
  expect(permitted({ ...viewer, constraints: [always] })).toBe('never')
  expect(permitted({ ...viewer, constraints: [ofBuckets, { ...always, key: 'another' }] })).toBe('never')
  expect(permitted({})).toBe('never')
})

test('DE-04 an elevation is stopped by locked rules only, surely or perhaps', () => {
  for (const rule of [always, ofBuckets]) expect(permitted({ ...lifted, constraints: [rule] })).toBe('always')
  expect(permitted({ ...lifted, constraints: [{ ...ofBuckets, is_locked: true }] })).toBe('perhaps')
  expect(permitted({ ...lifted, constraints: [{ ...always, is_locked: true }] })).toBe('never')
  // What another rule would surely deny does not settle it where only the locked one counts.
  const both = [
    { ...ofBuckets, is_locked: true },
    { ...always, key: 'another' },
  ]
  expect(permitted({ ...lifted, constraints: both })).toBe('perhaps')
})
