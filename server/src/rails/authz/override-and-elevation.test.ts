import { describe, expect, test } from 'vitest'
import { inputOf } from '../../../../cases/decision-case.ts'
import { type Action, overridePermission } from './actions.ts'
import { type DecisionInput, type Elevation, elevationFor, isOverridden } from './decide.ts'

describe('who can use override', () => {
  const everybody = ['user', 'platform_operator', 'service_account', 'shared_runtime_operator', 'workload', 'node_agent', 'system'] as const
  const who = (action: Action, permissions = [overridePermission]) =>
    everybody.filter((type) => isOverridden(action, inputOf(action, { actor: { type }, platform: { permissions } })))

  test('DE-06 people can, and the platform’s operator, who never administers the platform', () => {
    expect(who('tenant.update')).toEqual(['user', 'platform_operator'])
    expect(who('platform.node.manage')).toEqual(['user', 'platform_operator'])
    expect(who('platform.admin')).toEqual(['user'])
  })

  test('DE-06 DE-07 nobody can without the permission, or for what is not marked', () => {
    expect(who('tenant.update', [])).toEqual([])
    expect(who('storage.read')).toEqual([])
  })
})

describe('which elevation counts', () => {
  const action = 'storage.read'
  const elevation = (id: string, said: Partial<Elevation>): Elevation => ({
    ...{ id, scope: 'global', tenant_id: null, project_id: null, actions: [action] },
    ...{ starts_at: '2026-11-16T11:00:00.000Z', ends_at: '2026-11-16T13:00:00.000Z' },
    ...said,
  })
  const ofProject = elevation('3', { scope: 'project', project_id: 'project here' })
  const ofTenant = elevation('2', { scope: 'tenant', tenant_id: 'tenant here' })
  const ofAll = elevation('1', { scope: 'global' })
  const counting = (elevations: Elevation[], said: Partial<DecisionInput> = {}) =>
    elevationFor(action, { ...inputOf(action, {}), ...said, elevations })?.id

  test('DE-04 the narrowest, whatever the order', () => {
    expect(counting([ofAll, ofTenant, ofProject])).toBe('3')
    expect(counting([ofProject, ofTenant, ofAll])).toBe('3')
    expect(counting([ofTenant, ofAll])).toBe('2')
    expect(counting([ofAll, ofTenant])).toBe('2')
  })

  test('DE-13 of equally narrow ones the one with the first id, whatever the order', () => {
    const [first, second, third] = ['a', 'b', 'c'].map((id) => ({ ...ofTenant, id })) as [Elevation, Elevation, Elevation]
    expect(counting([first, second, third])).toBe('a')
    expect(counting([third, second, first])).toBe('a')
    expect(counting([second, third, first])).toBe('a')
  })

  test('DE-04 one of the platform reaches everywhere; one that names no tenant or project reaches nothing', () => {
    const { resource } = inputOf(action, {})
    const nowhere = { resource: { ...resource, tenant_id: null, project_id: null } }
    expect(counting([ofAll], nowhere)).toBe('1')
    expect(counting([{ ...ofTenant, tenant_id: null }], nowhere)).toBeUndefined()
    expect(counting([{ ...ofProject, project_id: null }], nowhere)).toBeUndefined()
  })
})
