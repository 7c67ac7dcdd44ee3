import { listOrganizationAuditLogs } from '@gatehouse/contract/audit-logs'
import { expect, test } from 'vitest'
import type { Database, Tx } from '#ground/db/database.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { asSuperuser } from '../../../../test/superuser.ts'

const org_id = seeded.org.aurora
/** What happens once, between the first two pieces of an export. */
let between: (() => Promise<void>) | undefined
const disturbed = (tx: Tx): Tx => ({
  ...tx,
  many: async (statement) => {
    const rows = await tx.many(statement)
    const happens = /audit_logs a|audit_rows_wanted/.test(statement.text) && rows.length > 0 ? between : undefined
    if (happens) between = undefined
    await happens?.()
    return rows
  },
})
const breakable = (database: Database): Database => ({
  ...database,
  transaction: (mode, within, options) => database.transaction(mode, (tx) => within(disturbed(tx)), options),
})
const live = serverFixture({ parts: (parts) => ({ ...parts, database: breakable(parts.database) }) })

/** Rows like one that is there, with ids that are older than all others. */
const addRows = (from: number, to: number) =>
  asSuperuser(live.clone.ownerUrl, async (client) => {
    const added = `jsonb_build_object('seq', 1000000 + n, 'id', '00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))`
    await client.query(
      `insert into audit_logs select (jsonb_populate_record(a, ${added})).*
         from audit_logs a, generate_series($2::int, $3::int) n
        where (a.chain_id, a.seq) = (select chain_id, min(seq) from audit_logs where tenant_id = $1 group by chain_id limit 1)`,
      [org_id, from, to],
    )
  })
const exported = async () => {
  const { status, text } = await live.ask('alice', listOrganizationAuditLogs, { params: { org_id }, query: { format: 'jsonl' } })
  expect(status).toBe(200)
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id)
}

test('AU-04 M5 export: a row is written between two pieces, before those that are read → it is of one moment, in its order, and whole', async () => {
  await addRows(1000, 1350)
  let happened = false
  between = async () => {
    await addRows(1, 1)
    happened = true
  }
  const ids = await exported()
  expect(happened).toBe(true)
  expect(ids).toEqual([...new Set(ids)].sort().reverse())
  expect(ids.filter((id) => id.startsWith('00000000'))).toHaveLength(351)
  expect((await exported()).filter((id) => id.startsWith('00000000'))).toHaveLength(352)
})
