import { createSecretKey, type KeyObject } from 'node:crypto'
import { readOrganization, updateOrganization } from '@gatehouse/contract/organizations'
import { describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { seeded, serverFixture, testKeys } from '../../../../test/live-server.ts'
import { seededNumber } from '../../../../test/sweep.ts'
import { rowsAfter } from './audit-queries.ts'
import { linkHash, platformChain, textOf } from './chain.ts'
import { type Memory, verifyChains } from './verify-chains.ts'

const chain = seeded.org.aurora
const rows = 12

let key: KeyObject
const live = serverFixture({}, async (live) => {
  key = await auditKey(live.database, parseKeyRing(testKeys))
  for (let n = 0; n < rows; n += 1)
    await live.ask('alice', updateOrganization, { params: { org_id: chain }, body: { name: `Name ${n}`, reason: 'ünïcödé ✓ "q"' } })
  await live.ask('alice', readOrganization, { params: { org_id: seeded.org.borealis } })
})

/** What a checkpoint would remember of the chains as they are now. */
const remember = async (): Promise<Memory> => {
  const heads = await live.sql<{ chain_id: string; seq: string; hash: Buffer }>('select * from audit_heads')
  return new Map(heads.map(({ chain_id, seq, hash }) => [chain_id, new Map([[Number(seq), hash.toString('hex')]])]))
}

/** Breaks the tables, looks, and puts them back. */
const tampered = async (statements: string, values: unknown[] = [], memory?: Memory, batch?: number) => {
  await live.sql('create table kept as table audit_logs; create table kept_heads as table audit_heads')
  try {
    for (const statement of statements.split(';;')) await live.sql(statement, statement.includes('$1') ? values : [])
    return (await verifyChains(live.database.reader, key, memory, batch)).faults
  } finally {
    await live.sql(
      'truncate audit_logs, audit_heads; insert into audit_logs select * from kept; insert into audit_heads select * from kept_heads',
    )
    await live.sql('drop table kept, kept_heads')
  }
}

test('AU-02 an untouched record verifies', async () => {
  const verified = await verifyChains(live.database.reader, key, await remember())
  expect(verified.faults).toEqual([])
  expect(verified.chains).toBeGreaterThanOrEqual(3)
  const [{ count }] = (await live.sql('select count(*)::int from audit_logs')) as [{ count: number }]
  expect(verified.rows).toBe(count)
})

describe('AU-02 verification names the tenant and the first bad row', () => {
  const at = (first_bad_seq: number, kind: string) => [{ chain_id: chain, tenant_id: chain, first_bad_seq, kind }]

  const fields: [string, string][] = [
    ['id', 'gen_random_uuid()'],
    ['occurred_at', "occurred_at + interval '1 microsecond'"],
    ['occurred_at', "occurred_at - interval '4051 years'"],
    ['occurred_at', "(to_char(occurred_at, 'YYYY-MM-DD HH24:MI:SS.US') || '+00 BC')::timestamptz"],
    ['occurred_at', "'infinity'"],
    ['correlation_id', "'x'"],
    ['actor_type', "'system'"],
    ['actor_id', "'x'"],
    ['actor_id', 'null'],
    ['platform_role', "'x'"],
    ['credential_id', "'x'"],
    ['jti', "'x'"],
    ['resource_type', "'x'"],
    ['resource_id', "'x'"],
    ['resource_name', "'x'"],
    ['action', "'x'"],
    ['severity', "'high'"],
    ['metadata', `'{"name":{"from":"a","to":"b"},"reason":null}'`],
    ['metadata', `(metadata::text || ' ')::json`],
    ['hash', "decode(repeat('ab', 32), 'hex')"],
  ]
  for (const [field, value] of fields)
    test(`an edited ${field} (${value})`, async () => {
      expect(await tampered(`update audit_logs set ${field} = ${value} where chain_id = $1 and seq = 5`, [chain])).toMatchObject(
        at(5, 'altered'),
      )
    })

  for (const field of ['hash', 'metadata', 'action', 'occurred_at'])
    test(`a row without its ${field}`, async () => {
      await live.sql(`alter table audit_logs alter ${field} drop not null`)
      expect(await tampered(`update audit_logs set ${field} = null where chain_id = $1 and seq = 6`, [chain])).toMatchObject(
        at(6, 'altered'),
      )
    })

  test('a row before the first, in the platform chain too', async () => {
    await live.sql('alter table audit_logs drop constraint audit_logs_seq_check')
    for (const where of [chain, platformChain]) {
      const faults = await tampered(copyOf('chain_id, -3').replace('seq = 2', 'seq = 1'), [where])
      expect(faults).toMatchObject([{ chain_id: where, first_bad_seq: 1, kind: 'missing' }])
    }
  })

  test('a deleted row', async () => {
    expect(await tampered('delete from audit_logs where chain_id = $1 and seq = 4', [chain])).toMatchObject(at(4, 'missing'))
    expect(await tampered('delete from audit_logs where chain_id = $1 and seq = 1', [chain])).toMatchObject(at(1, 'missing'))
  })

  test('two rows swapped', async () => {
    const swap = `update audit_logs set seq = 1000 where chain_id = $1 and seq = 3;;
                  update audit_logs set seq = 3 where chain_id = $1 and seq = 4;;
                  update audit_logs set seq = 4 where chain_id = $1 and seq = 1000`
    expect(await tampered(swap, [chain])).toMatchObject(at(3, 'altered'))
  })

  const copyOf = (columns: string) =>
    `insert into audit_logs (chain_id, seq, id, occurred_at, correlation_id, actor_type, actor_id, platform_role, tenant_id, project_id, resource_type,
       resource_id, resource_name, action, result, reason_code, severity, metadata, hash) select ${columns}, gen_random_uuid(), occurred_at, correlation_id,
       actor_type, actor_id, platform_role, tenant_id, project_id, resource_type, resource_id, resource_name, action, result, reason_code, severity, metadata, hash
       from audit_logs where chain_id = $1 and seq = 2`

  test('a row inserted in the middle, or past the end with its head', async () => {
    const push =
      'update audit_logs set seq = seq + 1000 where chain_id = $1 and seq > 2;;update audit_logs set seq = seq - 999 where chain_id = $1 and seq > 1000'
    expect(await tampered(`${push};;${copyOf('chain_id, 3')}`, [chain])).toMatchObject(at(3, 'altered'))
    const [{ seq }] = (await live.sql('select seq::int from audit_heads where chain_id = $1', [chain])) as [{ seq: number }]
    expect(await tampered(copyOf(`chain_id, ${seq + 1}`), [chain])).toMatchObject(at(seq + 1, 'altered'))
    expect(
      await tampered(`${copyOf(`chain_id, ${seq + 1}`)};;update audit_heads set seq = seq + 1 where chain_id = $1`, [chain]),
    ).toMatchObject(at(seq + 1, 'altered'))
  })

  test('a second row at a place that has one, and a row at no place, also where a batch ends between them', async () => {
    const key_of_table = 'alter table audit_logs drop constraint if exists audit_logs_pkey;;'
    const size = (await live.sql('select 1 from audit_logs')).length
    try {
      for (let batch = 1; batch <= size + 1; batch += 3) {
        const twice = await tampered(`${key_of_table}${copyOf('chain_id, 2')}`, [chain], undefined, batch)
        expect(twice, `batches of ${batch}`).toMatchObject([{ chain_id: chain, tenant_id: chain }])
        expect([2, 3]).toContain(twice[0]!.first_bad_seq)
        const nowhere = 'alter table audit_logs alter chain_id drop not null, alter seq drop not null;;'
        for (const place of ['null, 2', 'chain_id, null'])
          expect(await tampered(`${key_of_table}${nowhere}${copyOf(place)}`, [chain], undefined, batch), place).toMatchObject([
            { kind: 'unexpected' },
          ])
      }
    } finally {
      await live.sql('alter table audit_logs add primary key (chain_id, seq)')
    }
  })

  test('a cut tail: by the head alone, and with the head put back by the checkpoint', async () => {
    const memory = await remember()
    const [{ seq }] = (await live.sql('select seq::int from audit_heads where chain_id = $1', [chain])) as [{ seq: number }]
    const cut = 'delete from audit_logs where chain_id = $1 and seq > 7'
    expect(await tampered(cut, [chain])).toMatchObject(at(8, 'cut'))
    const covered = `${cut};;update audit_heads h set seq = 7, hash = a.hash from audit_logs a where h.chain_id = $1 and a.chain_id = $1 and a.seq = 7`
    expect(await tampered(covered, [chain])).toEqual([])
    expect(await tampered(covered, [chain], memory)).toMatchObject([
      { ...at(8, 'cut')[0], sentence: expect.stringContaining(`rows 8 to ${seq} are gone`) },
    ])
  })

  test('a whole chain rewritten, even with hashes that fit each other', async () => {
    // Somebody with the database but not the key recomputes every hash.
    const texts = await live.database.reader.many(rowsAfter(chain, 0, 1000))
    let previous: Buffer = Buffer.alloc(32)
    const statements = texts.map(({ seq, ...row }) => {
      const metadata = row.metadata!.replaceAll('Name', 'Fame')
      previous = linkHash(createSecretKey(Buffer.from('a guess')), previous, textOf({ ...row, seq, metadata }))
      return `update audit_logs set metadata = replace(metadata::text, 'Name', 'Fame')::json, hash = decode('${previous.toString('hex')}', 'hex') where chain_id = $1 and seq = ${seq}`
    })
    const head = `update audit_heads set hash = decode('${previous.toString('hex')}', 'hex') where chain_id = $1`
    expect(await tampered([...statements, head].join(';;'), [chain])).toMatchObject(at(1, 'altered'))
  })

  test('the whole table and its heads put back to an earlier state', async () => {
    await live.sql('create table yesterday as table audit_logs; create table yesterday_heads as table audit_heads')
    const [{ seq }] = (await live.sql('select seq::int from audit_heads where chain_id = $1', [chain])) as [{ seq: number }]
    await live.ask('alice', updateOrganization, { params: { org_id: chain }, body: { name: 'Later' } })
    const memory = await remember()
    const back =
      'truncate audit_logs, audit_heads; insert into audit_logs select * from yesterday; insert into audit_heads select * from yesterday_heads'
    expect(await tampered(back)).toEqual([])
    expect(await tampered(back, [], memory)).toMatchObject(at(seq + 1, 'cut'))
  })

  test('every chain emptied, heads and all', async () => {
    const faults = await tampered('truncate audit_logs, audit_heads', [], await remember())
    expect(faults.map(({ chain_id }) => chain_id).sort()).toEqual([platformChain, seeded.org.aurora, seeded.org.borealis].sort())
    for (const { first_bad_seq } of faults) expect(first_bad_seq).toBe(1)
  })
})

test('AU-02 a thousand random edits, every one found at its place', async () => {
  const all = await live.sql<{ chain_id: string; seq: number }>('select chain_id, seq::int from audit_logs')
  const columns = ['correlation_id', 'actor_type', 'resource_type', 'action', 'resource_id', 'platform_role']
  for (let n = 0; n < 1000; n += 1) {
    const { chain_id, seq } = all[seededNumber(`edit ${n}`) % all.length]!
    const column = columns[n % columns.length]!
    const [before] = await live.sql<Record<string, string>>(
      `update audit_logs a set ${column} = 'edited ' || $3 from (select ${column} as was from audit_logs where chain_id = $1 and seq = $2) b
        where chain_id = $1 and seq = $2 returning was`,
      [chain_id, seq, String(n)],
    )
    const { faults } = await verifyChains(live.database.reader, key)
    expect(faults).toMatchObject([{ chain_id, first_bad_seq: seq, kind: 'altered' }])
    await live.sql(`update audit_logs set ${column} = $3 where chain_id = $1 and seq = $2`, [chain_id, seq, before!.was])
  }
  expect((await verifyChains(live.database.reader, key)).faults).toEqual([])
})

test('AU-02 rows written at once by many keep every chain whole', async () => {
  const other = await live.replica()
  await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      live.ask(n % 2 ? 'alice' : 'bella', updateOrganization, {
        params: { org_id: n % 2 ? chain : seeded.org.borealis },
        body: { name: `N${n}` },
        base: n % 3 ? live.url : other.url,
      }),
    ),
  )
  expect((await verifyChains(live.database.reader, key)).faults).toEqual([])
})
