import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { updateOrganization } from '@gatehouse/contract/organizations'
import { depositRuntimeCredential } from '@gatehouse/contract/runtime-credentials'
import type pg from 'pg'
import { expect, inject, test } from 'vitest'
import { verifyChains } from '#rails/audit/verify-chains.ts'
import { roleVersionIdOf } from '#rails/authz/catalogue.ts'
import { accessStage } from '../../../../../test/access-stage.ts'
import { seeded, serverFixture, testKeys } from '../../../../../test/live-server.ts'
import { machineOn } from '../../../../../test/machine.ts'
import type { ClonedDatabase } from '../../../../../test/postgres.ts'
import { restoreInto, restoreTargets } from '../../../../../test/restore-targets.ts'
import { runtimesOn } from '../../../../../test/runtime-scene.ts'
import { asSuperuser } from '../../../../../test/superuser.ts'
import { amount, isWhole } from '../../../../../test/sweep.ts'
import { temporaryFolder } from '../../../../../test/temporary-folder.ts'
import { unhurried } from '../../../../../test/unhurried.ts'
import { parseKeyRing } from '../../custody/key-ring.ts'
import { auditKey, ownSecret } from '../../installation/own-secrets.ts'
import { openDatabase } from '../database.ts'
import { schemaIsCurrent } from '../schema-checks.ts'
import { backup } from './backup.ts'
import { isEmptyPrint, tablePrints } from './testing/table-prints.ts'

const hostile = 'tab\there\\N \\. back\\slash\nline\r\n"quote" \u0001\u007f é ü 漢字 🙂 \u202e\u{10ffff} \\t\\x41 end\\'

const folder = temporaryFolder('backup')
const { fresh, undo } = restoreTargets()
const live = serverFixture()

const fileNamed = (name: string) => join(folder, name)

/** A node with an allocation, keys of its own and of somebody who was let in, and a session of his. */
const fillNode = async () => {
  const stage = await accessStage(live)
  const [hers, his] = [await stage.key('asha'), await stage.key('axel')]
  const { id } = await stage.allocation('asha', [hers])
  await stage.granted('asha', id, 'axel', his)
  await live.sql(
    'insert into allocation_devices (allocation_id, node_id, device_index, held_since) select id, node_id, 0, now() from allocations where id = $1',
    [id],
  )
  stage.stop()
  await live.sql(
    `insert into ssh_sessions (id, node_id, session_id, allocation_id, fingerprint, user_ids, grant_ids, started_at)
     values (gen_random_uuid(), $1, 'kept', $2, $3, array[$4]::uuid[], '{}', now())`,
    [stage.node.id, id, his.fingerprint, seeded.user('axel')],
  )
  await live.sql('insert into node_events (node_id, event_id, told_at) values ($1, gen_random_uuid(), now())', [stage.node.id])
}

/** A shared runtime with a project, a member, a credential of its operator's, and a secret on its way to it. */
const fillRuntime = async () => {
  const runtimes = runtimesOn(live)
  const id = await runtimes.made()
  await runtimes.attach(id, seeded.project.aurora)
  const members = [{ name: 'kept', role: 'worker', state: 'ready', allocation_id: null }]
  await runtimes.operate(id, 'PUT', '/members', { sequence: 1, members })
  await live.ask('adam', depositRuntimeCredential, {
    params: { org_id: seeded.org.aurora, shared_runtime_id: id },
    body: { name: 'kept', secret: 'kept' },
  })
  expect((await runtimes.operate(id, 'POST', '/credential-deliveries', { name: 'kept' })).status).toBe(201)
}

/** Something in every table, and in texts whatever a text can hold. */
const fillAll = async () => {
  const { org, project, user } = seeded
  const body = { body: { name: 'Kept' }, headers: { 'idempotency-key': 'once' } }
  expect((await live.ask('alice', updateOrganization, { params: { org_id: org.aurora }, ...body })).status).toBe(200)
  const [role, version] = ['0190aaaa-0000-7000-8000-000000000001', '0190aaaa-0000-7000-8000-000000000002']
  await live.sql(`with custom as (insert into role_definitions (id, scope_type, project_id, name, is_builtin, current_version_id, created_at)
                                  values ('${role}', 'project', '${project.aurora}', 'custom', false, '${version}', '2026-01-01T00:00:00.123456Z'))
                  insert into role_definition_versions (id, role_definition_id, version, created_at) values ('${version}', '${role}', 1, now())`)
  await live.sql(`insert into role_permissions (role_version_id, permission_key) values ('${version}', 'project.read')`)
  await live.sql(`insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
                  values (gen_random_uuid(), '${project.aurora}', 'user', '${user('alice')}', '${version}', now())`)
  await live.sql(`insert into invitations (id, tenant_id, email, role_version_id, inviter_user_id, created_at, ends_at)
                  values (gen_random_uuid(), '${org.aurora}', 'kept@mail.example', '${roleVersionIdOf('tenant_viewer')}', '${user('alice')}', now(), now())`)
  await live.sql(`insert into policy_constraints (constraint_id, version, key, scope_type, actions, condition, time_zone, is_locked, state, created_at)
                  values (gen_random_uuid(), 1, 'kept', 'global', '{storage.read}', '{}', 'UTC', true, 'disabled', now())`)
  await fillNode()
  await fillRuntime()
  const machine = await machineOn(live.sql, { org_id: org.aurora, project_id: project.aurora })
  await machine.mint()
  await live.sql(`insert into token_cutoffs (id, subject_type, subject_id, org_id, issued_before, created_at, created_by, reason)
                  values (gen_random_uuid(), 'project', '${project.aurora}', '${org.aurora}', now(), now(), '${user('alice')}', 'kept')`)
  await live.sql(`insert into used_proofs (kind, subject, jti_hash, expires_at)
                  values ('dpop', 'kept', decode(repeat('0a', 32), 'hex'), now())`)
  await live.sql(
    `update users set disabled_at = now(), disabled_by = '${user('ada')}', disable_reason = $1 where id = '${user('bella')}'`,
    [hostile],
  )
  await live.sql(`update tenant_memberships set deleted_at = 'infinity', delete_reason = '' where user_id = '${user('bella')}'`)
  await live.sql(
    `insert into idempotency_keys (actor_type, actor_id, key, request_hash, reply, created_at, expires_at)
                  values ('user', $1, '\\N', '', $2, '-infinity', '0044-03-15 BC')`,
    [hostile, JSON.stringify({ [hostile]: [null, hostile, 1e300] })],
  )
}

test('HO-08 a backup, restored into a new database, holds every row of every table as it was', async () => {
  await fillAll()
  const before = await tablePrints(live.clone.ownerUrl)
  expect(Object.entries(before).filter(([, print]) => isEmptyPrint(print))).toEqual([])
  const target = await fresh()
  const made = await backup({ ownerUrl: live.clone.ownerUrl, to: fileNamed('all') })
  const restored = await restoreInto(target, fileNamed('all'))
  expect(await tablePrints(target.ownerUrl)).toEqual(before)

  expect(Object.fromEntries(made.tables.map(({ name, rows }) => [name, rows]))).toEqual(
    Object.fromEntries(Object.entries(before).map(([name, print]) => [name, Number(print.split(' ')[0])])),
  )
  expect(restored).toEqual({ created_at: made.created_at, installation_id: made.installation_id, epoch: 1, tables: made.tables })
  expect((await stat(fileNamed('all'))).size).toBe(made.bytes)
  const database = openDatabase({ url: target.appUrl, ...unhurried.database })
  undo.push(database.close)
  expect(await schemaIsCurrent(database.reader)).toBe(true)
  const key = await auditKey(database, parseKeyRing(testKeys))
  expect((await verifyChains(database.reader, key)).faults).toEqual([])
  const [row] = await asSuperuser(
    target.ownerUrl,
    async (client) => (await client.query('select disable_reason from users where disabled_at is not null')).rows,
  )
  expect(row).toEqual({ disable_reason: hostile })
})

test('HO-08 what is numbered after a restore comes after all that was numbered before the backup, also what nobody kept', async () => {
  const machine = await machineOn(live.sql, { org_id: seeded.org.aurora, project_id: seeded.project.aurora })
  await machine.mint()
  // A number that was given, and whose row was rolled back.
  await live.sql(`select nextval('issued_tokens_number_seq') from generate_series(1, 50)`)
  const [last] = await live.sql<{ last_value: string }>('select last_value from issued_tokens_number_seq')
  const target = await fresh()
  await backup({ ownerUrl: live.clone.ownerUrl, to: fileNamed('numbered') })
  await restoreInto(target, fileNamed('numbered'))
  const [next] = await asSuperuser(
    target.ownerUrl,
    async (client) => (await client.query<{ next: string }>(`select nextval('issued_tokens_number_seq') as next`)).rows,
  )
  expect(Number(next!.next)).toBe(Number(last!.last_value) + 1)
})

test('HO-08 a backup holds secrets sealed, and not the keys that open them', async () => {
  const names = ['cursor_key', 'audit_key', 'checkpoint_key'] as const
  const ring = parseKeyRing(testKeys)
  const secrets = await Promise.all(names.map(async (name) => (await ownSecret(live.database, ring, name)).reveal()))
  await backup({ ownerUrl: live.clone.ownerUrl, to: fileNamed('sealed') })
  const text = gunzipSync(await readFile(fileNamed('sealed'))).toString('latin1')
  const holds = (part: string) => text.includes(part)
  expect(names.filter(holds)).toEqual(names)
  const shapes = [...secrets, testKeys.split(':')[1]!].flatMap((secret) => {
    const bytes = Buffer.from(secret, 'base64url')
    return [secret, bytes.toString('hex'), bytes.toString('base64'), bytes.toString('latin1')]
  })
  expect(shapes.filter(holds)).toEqual([])
})

test('HO-08 a backup is of one moment, though the server goes on working', async () => {
  const chunks: Buffer[] = []
  let isOver = false
  const slow = new Writable({
    highWaterMark: 1024,
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk)
      setTimeout(done, 20)
    },
  })
  const working = (async () => {
    for (let n = 0; !isOver; n += 1)
      await live.ask('alice', updateOrganization, { params: { org_id: seeded.org.aurora }, body: { name: `Name ${n}` } })
  })()
  const count = async () => Number((await live.sql('select count(*) as n from audit_logs'))[0]!.n)
  const before = await count()
  await expect.poll(count).toBeGreaterThan(before)
  const made = await backup({ ownerUrl: live.clone.ownerUrl, to: slow })
  await expect.poll(count).toBeGreaterThan(made.tables.find(({ name }) => name === 'audit_logs')!.rows)
  isOver = true
  await working
  await writeFile(fileNamed('moment'), Buffer.concat(chunks))
  const target = await fresh()
  await restoreInto(target, fileNamed('moment'))
  const database = openDatabase({ url: target.appUrl, ...unhurried.database })
  undo.push(database.close)
  const verified = await verifyChains(database.reader, await auditKey(database, parseKeyRing(testKeys)))
  expect(verified).toMatchObject({ faults: [], rows: made.tables.find(({ name }) => name === 'audit_logs')!.rows })
})

test('HO-08 a backup that waits for whoever changes a table as a whole sees what he left', async () => {
  const clone = await fresh()
  await asSuperuser(clone.ownerUrl, async (client) => {
    await client.query('begin')
    await client.query('truncate idempotency_keys')
    const made = backup({ ownerUrl: clone.ownerUrl, to: fileNamed('waited') })
    const waits = `select from pg_locks where not granted and relation = 'idempotency_keys'::regclass`
    await expect.poll(async () => (await client.query(waits)).rowCount).toBe(1)
    await client.query(
      `insert into idempotency_keys (actor_type, actor_id, key, request_hash, created_at, expires_at) values ('a', 'b', 'c', 'd', now(), now())`,
    )
    await client.query('commit')
    expect((await made).tables).toContainEqual({ name: 'idempotency_keys', rows: 1 })
  })
})

const auditRows = (rows: number) => `
  insert into audit_logs (chain_id, seq, id, occurred_at, correlation_id, actor_type, resource_type, action, result, severity, metadata, hash)
  select '00000000-0000-0000-0000-000000000000', n, gen_random_uuid(), now(), 'c' || n, 'system', 'x', 'x.y', 'success', 'info',
         json_build_object('n', repeat(md5(n::text), 40)), sha256(n::text::bytea)
    from generate_series(1, ${rows}) n`
const nameOf = ({ ownerUrl }: ClonedDatabase) => new URL(ownerUrl).pathname.slice(1)
const backing = `application_name = 'gatehouse-backup' and datname = $1`

test('HO-08 many audit rows pass through without being held', async () => {
  const clone = await fresh()
  const target = await fresh()
  await asSuperuser(clone.ownerUrl, (client) => client.query(auditRows(amount(10_000, 50_000))))
  const before = process.memoryUsage.rss()
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss() - before)
  }, 10)
  await backup({ ownerUrl: clone.ownerUrl, to: fileNamed('many') })
  await restoreInto(target, fileNamed('many'))
  clearInterval(watch)
  // What the process grows by of itself is not all of it, and counts for little only beside many rows.
  if (isWhole) expect(most).toBeLessThan(2 * gunzipSync(await readFile(fileNamed('many'))).length)
  expect(await tablePrints(target.ownerUrl)).toEqual(await tablePrints(clone.ownerUrl))
})

test('HO-08 where the destination is slow, the database waits and nothing piles up between them', async () => {
  const clone = await fresh()
  let goOn = () => {}
  const stalled = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const sink = new Writable({ write: (_chunk, _encoding, done) => void stalled.then(() => done()) })
  await asSuperuser(clone.ownerUrl, (client) =>
    client.query(`insert into idempotency_keys (actor_type, actor_id, key, request_hash, created_at, expires_at)
                  select 'a', 'b', n::text, repeat(md5(n::text), 100), now(), now()
                    from generate_series(1, 10000) n`),
  )
  const made = backup({ ownerUrl: clone.ownerUrl, to: sink })
  await asSuperuser(inject('postgres').superuserUrl, async (client) => {
    const waits = `select from pg_stat_activity where wait_event = 'ClientWrite' and ${backing}`
    await expect.poll(async () => (await client.query(waits, [nameOf(clone)])).rowCount).toBe(1)
  })
  goOn()
  expect((await made).tables).toContainEqual({ name: 'idempotency_keys', rows: 10_000 })
})

test('HO-08 the file is its owner’s alone, whole or absent, and never overwritten', async () => {
  const ownerUrl = live.clone.ownerUrl
  const inner = await mkdtemp(join(folder, 'kept-'))
  const to = join(inner, 'backup')
  await backup({ ownerUrl, to })
  expect((await stat(to)).mode & 0o777).toBe(0o600)
  expect(await readdir(inner)).toEqual(['backup'])
  await expect(backup({ ownerUrl, to })).rejects.toThrow(`${to} exists already; a backup does not overwrite another.`)
  await expect(backup({ ownerUrl, to: join(inner, 'none', 'x') })).rejects.toThrow('there is no such file or folder')
  await expect(backup({ ownerUrl: 'postgres://nobody@127.0.0.1:1/none', to: join(inner, 'y') })).rejects.toThrow('does not answer')
  const full = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error('no space'), { code: 'ENOSPC' })) })
  await expect(backup({ ownerUrl, to: full })).rejects.toThrow('no space')
  expect(await readdir(inner)).toEqual(['backup'])
})

test('HO-08 a line that breaks in the middle leaves no file, and is one sentence', async () => {
  const inner = await mkdtemp(join(folder, 'broken-'))
  const clone = await fresh()
  await asSuperuser(clone.ownerUrl, (client) =>
    client.query(`insert into idempotency_keys (actor_type, actor_id, key, request_hash, created_at, expires_at)
                  select 'a', 'b', n::text, repeat(md5(n::text), 300), now(), now() from generate_series(1, 5000) n`),
  )
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy%' and ${backing}`
  const broken = (client: pg.Client) => async () => {
    await rm(join(inner, 'x'), { force: true })
    const made = { said: '' }
    void backup({ ownerUrl: clone.ownerUrl, to: join(inner, 'x') }).then(
      () => {
        made.said = 'whole'
      },
      (error: Error) => {
        made.said = error.message
      },
    )
    while (made.said === '') await client.query(end, [nameOf(clone)])
    return made.said
  }
  // Once more where it was done before anybody could break it.
  await asSuperuser(inject('postgres').superuserUrl, (client) =>
    expect.poll(broken(client)).toBe('The connection to the database broke; try again.'),
  )
  expect(await readdir(inner)).toEqual([])
})
