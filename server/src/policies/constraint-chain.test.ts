import { expect, test } from 'vitest'
import type { Statement } from '../db/statement.ts'
import type { Constraint } from './constraint.ts'
import { chainOf, constraintRules, readChains, wantChain } from './constraint-chain.ts'

const inTraining = { tenant_id: 'aurora', project_id: 'training' }
const inRendering = { tenant_id: 'aurora', project_id: 'rendering' }
const nowhere = { tenant_id: null, project_id: null }
const rule = (key: string, scope_type: Constraint['scope_type'], scope_id: string | null): Constraint & { scope_id: string | null } => ({
  ...{ constraint_id: `id of ${key}`, version: 1, key, scope_type, actions: ['tenant.*'], condition: {} },
  ...{ time_zone: 'UTC', is_locked: false, state: 'active', scope_id },
})

const asked: (readonly unknown[])[] = []
const reader = {
  many: async <Row>({ values, parse }: Statement<Row>) => {
    asked.push(values)
    const rows = [rule('night', 'global', null), rule('abroad', 'tenant', 'aurora'), rule('weekend', 'project', 'training')]
    return rows.map(parse)
  },
}
const keys = (chain: readonly Constraint[]) => chain.map(({ key }) => key)

test('DE-10 the chains of all places are read at once, each scope once, and come in the order of the places', async () => {
  const chains = await readChains(reader, [inTraining, nowhere, inRendering])
  expect(chains.map(keys)).toEqual([['night', 'abroad', 'weekend'], ['night'], ['night', 'abroad']])
  expect(asked.splice(0)).toEqual([[true, ['aurora'], ['training', 'rendering']]])
})

test('DE-10 the same lists make the same chain, so that what was worked out about it is found again', async () => {
  const [wide, middle, narrow] = ['global', 'tenant', 'project'].map((scope) => [rule(scope, scope as 'global', null)])
  expect(chainOf([wide, middle, narrow])).toBe(chainOf([wide, middle, narrow]))
  expect(keys(chainOf([wide, middle, narrow]))).toEqual(['global', 'tenant', 'project'])
  expect(keys(chainOf([wide, middle]))).toEqual(['global', 'tenant'])
  expect(keys(chainOf([undefined, undefined, narrow]))).toEqual(['project'])
  expect(chainOf([wide, [], []])).toBe(wide)
  expect(chainOf([])).toEqual([])
})

test('DE-19 rules are kept by their scope, and change in the epoch of their tenant', async () => {
  const wanted = wantChain(inTraining)
  expect(wanted.map(({ id }) => id)).toEqual(['rules global null null', 'rules tenant aurora aurora', 'rules project training aurora'])
  expect(wanted.map(({ tenant_id }) => tenant_id)).toEqual([null, 'aurora', 'aurora'])
  expect(wantChain(nowhere)).toHaveLength(1)
  const loaded = await constraintRules.load(reader as never, [
    { type: 'project', ...inTraining },
    { type: 'project', ...inRendering },
  ])
  expect(loaded.map((rules) => keys(rules!))).toEqual([['weekend'], []])
  expect(asked.splice(0)).toEqual([[false, [], ['training', 'rendering']]])
})
