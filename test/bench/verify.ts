// A million audit rows in 200 chains, written in bulk, then followed. A million should take seconds: more than 30 is a failure of the bench.
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@gatehouse/server/ground/db/database'
import { startPostgres } from '@gatehouse/server/ground/db/embedded/postgres'
import { prepareDatabase } from '@gatehouse/server/process/prepare-database'
import { type ChainedRow, genesis, linkHash, microseconds, textOf } from '@gatehouse/server/rails/audit/chain'
import { verifyChains } from '@gatehouse/server/rails/audit/verify-chains'
import pg from 'pg'
import { recordIfWanted } from '../../tools/evidence/records.ts'

const [given] = process.argv.slice(3).filter((word) => word !== '--record')
const rows = Number(given ?? 1_000_000)
const recording = recordIfWanted('verify')
const chains = 200
const perChain = Math.ceil(rows / chains)
const key = createSecretKey(randomBytes(32))

const fill = async (client: pg.Client) => {
  const now = microseconds(new Date().toISOString())
  for (let chain = 0; chain < chains; chain += 1) {
    const tenant = randomUUID()
    await client.query("insert into organizations (id, type, name, slug, created_at) values ($1, 'enterprise', 'B', $2, now())", [
      tenant,
      `b-${chain}`,
    ])
    let hash: Buffer = genesis
    const made: (ChainedRow & { hash: string })[] = []
    for (let seq = 1; seq <= perChain; seq += 1) {
      const row: ChainedRow = {
        chain_id: tenant,
        seq,
        id: randomUUID(),
        occurred_at: now,
        correlation_id: randomUUID(),
        actor_type: 'user',
        actor_id: randomUUID(),
        platform_role: 'none',
        tenant_id: tenant,
        project_id: null,
        resource_type: 'project',
        resource_id: randomUUID(),
        resource_name: `gpuaas:local:${tenant}:-:iam/project:${seq}`,
        action: 'project.update',
        result: 'success',
        reason_code: null,
        severity: 'info',
        metadata: `{"name":{"from":"a${seq}","to":"b"},"reason":null}`,
        credential_id: null,
        jti: null,
      }
      hash = linkHash(key, hash, textOf(row))
      made.push({ ...row, hash: hash.toString('hex') })
    }
    await client.query(
      `insert into audit_logs select chain_id, seq, id, occurred_at, correlation_id, actor_type, actor_id, platform_role, tenant_id, project_id, resource_type,
         resource_id, resource_name, action, result, reason_code, severity, metadata::json, decode(hash, 'hex')
         from jsonb_to_recordset($1::jsonb) as r (chain_id uuid, seq bigint, id uuid, occurred_at timestamptz, correlation_id text, actor_type text, actor_id text,
         platform_role text, tenant_id uuid, project_id uuid, resource_type text, resource_id text, resource_name text, action text, result text,
         reason_code text, severity text, metadata text, hash text)`,
      [JSON.stringify(made)],
    )
    await client.query("insert into audit_heads values ($1, $2, decode($3, 'hex'))", [tenant, perChain, hash.toString('hex')])
  }
  await client.query('analyze audit_logs')
}

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
await chmod(folder, 0o755)
const postgres = await startPostgres({ dataDir: join(folder, 'data'), settings: { fsync: 'off', shared_buffers: '512MB' } })
try {
  await prepareDatabase({ ownerUrl: postgres.ownerUrl, appRole: 'gatehouse_app' })
  const client = new pg.Client({ connectionString: postgres.ownerUrl })
  await client.connect()
  await fill(client)
  await client.end()
  const database = openDatabase({ url: postgres.appUrl, max_connections: 2 })
  const times: number[] = []
  for (const round of [1, 2, 3]) {
    const began = performance.now()
    const verified = await verifyChains(database.reader, key)
    const seconds = (performance.now() - began) / 1000
    times.push(seconds)
    if (seconds > rows / 33_000) process.exitCode = 1
    console.log(
      `round ${round}: ${verified.rows} rows, ${verified.chains} chains, ${verified.faults.length} faults, ${seconds.toFixed(1)} s, ${Math.round(verified.rows / seconds)} rows/s`,
    )
  }
  await database.close()
  const slowest = Math.max(...times)
  recording.end({
    verdict: slowest > rows / 33_000 ? 'broken' : rows < 1_000_000 ? 'short' : 'kept',
    figure: `${rows} rows in ${chains} chains: ${times.map((each) => each.toFixed(1)).join(', ')} s, at worst ${Math.round(rows / slowest)} rows/s`,
  })
} finally {
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}
