import { expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import type { Tx } from '#ground/db/database.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { newId } from '#ground/kernel/ids.ts'
import { systemWork, type Work } from '#ground/work/work.ts'
import { seeded, serverFixture, testKeys } from '../../../../test/live-server.ts'
import { type Append, appendWith } from './append.ts'
import { record } from './record.ts'
import { verifyChains } from './verify-chains.ts'

let append: Append
const live = serverFixture({}, async (live) => {
  append = appendWith({ region: 'test', key: await auditKey(live.database, parseKeyRing(testKeys)) })
})

const { aurora, borealis } = seeded.org
/** A work of its own with an event for each of these tenants. */
const workOn = (tx: Tx, name: string, tenants: readonly (string | null)[]): Work => {
  const work = systemWork(tx, name, name)
  for (const tenant_id of tenants)
    record(work, { action: 'organization.update', resource_type: 'organization', resource_id: tenant_id, tenant_id })
  return work
}
const faults = async () => {
  const key = await auditKey(live.database, parseKeyRing(testKeys))
  return (await live.database.transaction('read', (tx) => verifyChains(tx, key))).faults
}
const rowsOf = (name: string) =>
  live.sql<{ chain_id: string; seq: string; actor_id: string }>(
    'select chain_id, seq, actor_id from audit_logs where correlation_id = $1 order by chain_id, seq',
    [name],
  )

test('AU-02 the events of several works go into their chains in their order, each under its own name', async () => {
  const statements: string[] = []
  await live.database.transaction('write', async (tx) => {
    const counted: Tx = {
      ...tx,
      many: (statement) => {
        statements.push(statement.text)
        return tx.many(statement)
      },
      last: (statement, meaning) => {
        statements.push(statement.text)
        tx.last(statement, meaning)
      },
    }
    await append(workOn(counted, 'one', [aurora, borealis, aurora]), workOn(counted, 'two', [borealis, null]), workOn(counted, 'none', []))
  })
  expect(statements).toHaveLength(2)
  const [one, two] = [await rowsOf('one'), await rowsOf('two')]
  expect(one.map(({ chain_id, actor_id }) => [chain_id, actor_id]).sort()).toEqual(
    [
      [aurora, 'one'],
      [aurora, 'one'],
      [borealis, 'one'],
    ].sort(),
  )
  expect(two).toHaveLength(2)
  const seqIn = (rows: typeof one, chain: string) => rows.filter(({ chain_id }) => chain_id === chain).map(({ seq }) => Number(seq))
  expect(seqIn(two, borealis)[0]).toBe(seqIn(one, borealis)[0]! + 1)
  expect(await faults()).toEqual([])
})

test('AU-02 works that share chains and come at once, in any order, neither stop each other nor tear a chain', async () => {
  // Of these two the chains have yet to begin.
  const fresh = [newId('org'), newId('org')]
  for (const id of fresh)
    await live.sql(`insert into organizations (id, type, name, slug, created_at) values ($1, 'enterprise', 'New', $2, now())`, [
      id,
      `n-${id}`,
    ])
  const tenants = [aurora, borealis, null, ...fresh]
  const inOrder = (n: number) => [...tenants.slice(n % 5), ...tenants.slice(0, n % 5)]
  await Promise.all(
    Array.from({ length: 24 }, (_, n) =>
      live.database.transaction('write', (tx) => append(workOn(tx, `many-${n}`, inOrder(n)), workOn(tx, `more-${n}`, inOrder(n + 2)))),
    ),
  )
  for (let n = 0; n < 24; n += 1) expect(await rowsOf(`many-${n}`)).toHaveLength(5)
  expect(await faults()).toEqual([])
})

test('AU-02 AU-01 where nothing happened nothing is written', async () => {
  await live.database.transaction('write', (tx) => append(workOn(tx, 'nothing', [])))
  expect(await rowsOf('nothing')).toEqual([])
})
