import { expect, test } from 'vitest'
import type { Statement } from '#ground/db/statement.ts'
import type { Constraint } from './constraint.ts'
import { constraintChains, readChains, wantChain } from './constraint-chain.ts'

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
  expect(asked.splice(0)).toEqual([[['aurora'], ['training', 'rendering']]])
})

test('DE-10 where one scope alone has rules, all chains through it are the same one, and so is what was worked out about it', async () => {
  const [rendering, elsewhere] = await readChains({ many: async ({ parse }) => [rule('night', 'global', null)].map(parse) }, [
    inRendering,
    nowhere,
  ])
  expect(rendering).toBe(elsewhere)
  expect(keys(rendering!)).toEqual(['night'])
  expect(await readChains({ many: async () => [] }, [inTraining])).toEqual([[]])
})

test('DE-19 a chain is kept by its end, and changes in the epoch of its tenant', async () => {
  const { id, tenant_id } = wantChain(inTraining)
  expect([id, tenant_id]).toEqual(['rules aurora training', 'aurora'])
  expect(wantChain(inRendering).id).not.toBe(id)
  expect(wantChain(nowhere)).toMatchObject({ id: 'rules null null', tenant_id: null })
  const loaded = await constraintChains.load(reader as never, [inTraining, inRendering])
  expect(loaded.map((rules) => keys(rules!))).toEqual([
    ['night', 'abroad', 'weekend'],
    ['night', 'abroad'],
  ])
  expect(asked.splice(0)).toEqual([[['aurora'], ['training', 'rendering']]])
})

test('L4 DE-10 a tenant’s rule is one thing on the chains of all its projects, and another as soon as anything of it is', async () => {
  const load = async (end: typeof inTraining, ...rows: ReturnType<typeof rule>[]) =>
    (await constraintChains.load({ many: async ({ parse }: Statement<unknown>) => rows.map(parse) } as never, [end]))[0]!
  const abroad = rule('abroad', 'tenant', 'aurora')
  const [training] = await load(inTraining, structuredClone(abroad))
  const [rendering] = await load(inRendering, structuredClone(abroad))
  expect(rendering).toBe(training)
  const changed = { ...abroad, condition: { in: { region: ['eu'] } } }
  expect((await load(inRendering, changed))[0]).toMatchObject({ key: 'abroad', condition: changed.condition })
  expect((await load(inRendering, { ...abroad, version: 2 }))[0]).not.toBe(training)
  const [one, two] = await constraintChains.load(reader as never, [nowhere, nowhere])
  expect(one).toBe(two)
  asked.splice(0)
})
