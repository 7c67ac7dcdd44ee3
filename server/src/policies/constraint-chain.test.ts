import { expect, test } from 'vitest'
import type { Statement } from '../db/statement.ts'
import type { Constraint } from './constraint.ts'
import { constraintChains, readChains } from './constraint-chain.ts'

const ends = [
  { tenant_id: 'aurora', project_id: 'training' },
  { tenant_id: null, project_id: null },
]
const rule = (key: string, scope_type: Constraint['scope_type']): Constraint => ({
  ...{ constraint_id: `id of ${key}`, version: 1, key, scope_type, actions: ['tenant.*'], condition: {} },
  ...{ time_zone: 'UTC', is_locked: false, state: 'active' },
})

test('DE-10 the chains of all places are read at once, and come in the order of the places', async () => {
  const asked: unknown[] = []
  const reader = {
    many: async <Row>({ values, parse }: Statement<Row>) => {
      asked.push(values)
      return [{ rules: [rule('night', 'global'), rule('abroad', 'tenant')] }, { rules: [rule('weekend', 'project')] }].map(parse)
    },
  }
  for (const read of [readChains, constraintChains.load as typeof readChains]) {
    expect((await read(reader, ends)).map((rules) => rules.map(({ key }) => key))).toEqual([['night', 'abroad'], ['weekend']])
    expect(asked.splice(0)).toEqual([
      [
        ['aurora', null],
        ['training', null],
      ],
    ])
  }
})

test('DE-19 a chain is kept under its place, and changes in the epoch of its tenant', () => {
  expect(constraintChains.name).toBe('constraints')
  expect(ends.map(constraintChains.textOf)).toEqual(['aurora training', 'null null'])
  expect(ends.map(constraintChains.tenantOf)).toEqual(['aurora', null])
})
