import { describe, expect, test } from 'vitest'
import type { Statement } from '#ground/db/statement.ts'
import type { FreshReader, Wanted } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { ChainValue } from './effective-value.ts'
import { readPolicy, readPolicyFresh, wantPolicy } from './read-policy.ts'

// That the table is read rightly is shown in `read-policy.db.test.ts`; here it is what is made of its rows, and how they are kept.

const key = 'auth.service_account_token_ttl_seconds'
const inTraining = { tenant_id: 'aurora', project_id: 'training' }
const chain: ChainValue[] = [
  { scope_type: 'global', value: 3600 },
  { scope_type: 'tenant', value: 600 },
  { scope_type: 'project', value: 900 },
]

/** A reader of these rows, and the values of the statements that it was asked. */
const told = (rows: readonly ChainValue[]) => {
  const asked: (readonly unknown[])[] = []
  const many = async <Row>({ values, parse }: Statement<Row>) => {
    asked.push(values)
    return rows.map(parse)
  }
  return { asked, reader: { many } }
}

/** One that keeps nothing, and shows what it was to keep. */
const freshOf = (rows: readonly ChainValue[], isKnown = true) => {
  const { asked, reader } = told(rows)
  const wanted: Wanted<unknown>[] = []
  const read = async (wants: readonly Wanted<unknown>[]) => {
    wanted.push(...wants)
    const load = wants[0]!.source.load as (tx: unknown, keys: readonly unknown[]) => Promise<readonly unknown[]>
    const found = await load(
      reader,
      wants.map(({ key: one }) => one),
    )
    return { moment: undefined, values: isKnown ? found : [undefined] }
  }
  return { asked, wanted, fresh: { read } as unknown as FreshReader }
}

const refusal = async (reading: Promise<unknown>): Promise<string> => {
  const error = await reading.catch((thrown: unknown) => thrown)
  if (!(error instanceof Problem)) return 'it was read'
  return `${error.code}: ${(error.cause as Error).message}`
}

describe.each([
  ['readPolicy', (rows: ChainValue[]) => readPolicy(told(rows).reader, key, inTraining)],
  ['readPolicyFresh', (rows: ChainValue[]) => readPolicyFresh(freshOf(rows).fresh, key, inTraining)],
])('%s', (_name, read) => {
  test('DE-20 it is what holds at the end of the chain', async () => {
    expect(await read(chain)).toBe(600)
  })

  test('DE-20 what is missing or cannot be read is refused, and the log says which', async () => {
    expect(await refusal(read([]))).toBe(`policy_unavailable: policy ${key} is missing`)
    expect(await refusal(read([{ scope_type: 'global', value: 'soon' }]))).toBe(`policy_unavailable: policy ${key} is unreadable`)
  })
})

test('DE-20 without a place the platform’s value is asked for', async () => {
  const plain = told(chain)
  await readPolicy(plain.reader, key)
  await readPolicy(plain.reader, key, inTraining)
  expect(plain.asked).toEqual([
    [key, null, null],
    [key, 'aurora', 'training'],
  ])
  const kept = freshOf(chain)
  await readPolicyFresh(kept.fresh, key)
  expect(kept.asked).toEqual([[key, null, null]])
})

test('DE-19 a value is kept under its key and place, and changes in the epoch of its tenant', async () => {
  const { wanted, asked, fresh } = freshOf(chain)
  await readPolicyFresh(fresh, key, inTraining)
  await readPolicyFresh(fresh, key)
  expect(wanted.map(({ id, tenant_id }) => [id, tenant_id])).toEqual([
    [`policy ${key} aurora training`, 'aurora'],
    [`policy ${key} null null`, null],
  ])
  expect(asked[0]).toEqual([key, 'aurora', 'training'])
})

test('DE-19 what is wanted of the platform, with every request, is said once; of other places each time', () => {
  expect(wantPolicy(key)).toBe(wantPolicy(key))
  expect(wantPolicy('auth.service_account_max_keys').id).not.toBe(wantPolicy(key).id)
  expect(wantPolicy(key, inTraining)).not.toBe(wantPolicy(key, inTraining))
})

test('DE-20 of what was asked for, all is read', async () => {
  const { wanted, fresh } = freshOf(chain)
  await readPolicyFresh(fresh, key)
  const { source } = wanted[0] as unknown as { source: { load: (tx: unknown, keys: unknown[]) => Promise<unknown[]> } }
  const { asked, reader } = told(chain)
  const places = [inTraining, { tenant_id: 'borealis', project_id: null }]
  const found = await source.load(
    reader,
    places.map((place) => ({ key, ...place })),
  )
  expect(found).toEqual([chain, chain])
  expect(asked.map(([, tenant_id]) => tenant_id)).toEqual(['aurora', 'borealis'])
})

test('DE-20 what could not be found out is refused like what is missing', async () => {
  expect(await refusal(readPolicyFresh(freshOf(chain, false).fresh, key))).toBe(`policy_unavailable: policy ${key} is missing`)
})
