import { randomBytes } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { updateOrganization } from '@gatehouse/contract/organizations'
import { listProjectBindings } from '@gatehouse/contract/role-bindings'
import {
  createServiceAccountKey,
  listServiceAccountKeys,
  revokeServiceAccountKey,
  rotateServiceAccountKey,
} from '@gatehouse/contract/service-accounts'
import { revokeTokens } from '@gatehouse/contract/tokens'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appendWith } from '#rails/audit/append.ts'
import { verifyChains } from '#rails/audit/verify-chains.ts'
import { type LiveServer, liveServer, seeded, testKeys } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { parseKeyRing } from '../custody/key-ring.ts'
import { Secret } from '../kernel/secret.ts'
import { acceptRestore } from './accept-restore.ts'
import { checkpointKey, memoryOf, readCheckpoints } from './checkpoint.ts'
import { checkpointFile } from './checkpoint-file.ts'
import { type CheckpointLog, checkpointLog } from './checkpoint-log.ts'
import { behindCheckpoints } from './compare-heads.ts'
import { auditKey, ownSecret } from './own-secrets.ts'
import { installationEnvelopes, rewrap } from './rewrap.ts'
import { verifyRecord } from './verify-record.ts'
import { writeCheckpoint } from './write-checkpoint.ts'

const { org } = seeded
let live: LiveServer
let folder: string
let file: string
let key: ReturnType<typeof checkpointKey>

beforeEach(async () => {
  live = await liveServer()
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-checkpoints-'))
  file = join(folder, 'deep', 'checkpoints.jsonl')
  key = checkpointKey(await ownSecret(live.database, parseKeyRing(testKeys), 'checkpoint_key'))
})
afterEach(async () => {
  await live.stop()
  await rm(folder, { recursive: true })
})

const openLog = (): CheckpointLog => checkpointLog(checkpointFile(file), key)
const rename = (name: string) => live.ask('alice', updateOrganization, { params: { org_id: org.aurora }, body: { name } })
const lines = async () => (await readFile(file, 'utf8')).trimEnd().split('\n')

test('AU-02 a checkpoint is written when something happened, names only what moved, and is signed and chained', async () => {
  const log = openLog()
  expect(await writeCheckpoint(live.database, log)).toBe(1)
  expect(await writeCheckpoint(live.database, log)).toBe(1)
  await rename('A')
  expect(await writeCheckpoint(live.database, log)).toBe(2)
  const read = readCheckpoints(await lines(), key)
  expect(Object.keys(read[1]!.heads)).toEqual([org.aurora])
  expect(read[1]).toMatchObject({ number: 2, kind: 'checkpoint', epoch: 1 })
  expect((await verifyChains(live.database.reader, await auditKey(live.database, parseKeyRing(testKeys)), memoryOf(read))).faults).toEqual(
    [],
  )
})

test('AU-02 a checkpoint file that was changed, reordered, thinned or signed by another is refused', async () => {
  const log = openLog()
  for (const name of ['A', 'B', 'C']) {
    await rename(name)
    await writeCheckpoint(live.database, log)
  }
  const good = await lines()
  const changed = good.map((line, n) => (n === 1 ? line.replace(/"seq":\d+/, '"seq":1') : line))
  const foreign = checkpointKey(new Secret(randomBytes(32).toString('base64url')))
  expect(() => readCheckpoints(good, key)).not.toThrow()
  expect(() => readCheckpoints(changed, key)).toThrow('does not follow')
  expect(() => readCheckpoints([...good.slice(0, 2), good[2]!.replace(/"epoch":1/, '"epoch":2')], key)).toThrow('signature')
  expect(() => readCheckpoints([good[0]!, good[2]!, good[1]!], key)).toThrow('does not follow')
  expect(() => readCheckpoints([good[0]!, good[2]!], key)).toThrow('does not follow')
  expect(() => readCheckpoints(good.slice(1), key)).toThrow('does not follow')
  expect(() => readCheckpoints([...good, '{}'], key)).toThrow('not readable')
  expect(() => readCheckpoints(good, foreign)).toThrow('signature')
  // Cut at the end it is still a good file; the database knows that there were more.
  await writeFile(file, `${good.slice(0, 2).join('\n')}\n`)
  await expect(writeCheckpoint(live.database, openLog())).rejects.toThrow('only 2 are there')
  expect(await behindCheckpoints(live.database, openLog())).toContain('only 2 are in the checkpoint file')
})

test('a line half written by a crash is as if it had never been', async () => {
  await writeCheckpoint(live.database, openLog())
  await appendFile(file, '{"at":"20')
  await rename('A')
  expect(await writeCheckpoint(live.database, openLog())).toBe(2)
  expect(readCheckpoints(await lines(), key)).toHaveLength(2)
})

test('processes on one file take turns', async () => {
  const logs = Array.from({ length: 4 }, openLog)
  for (let round = 0; round < 5; round += 1) {
    await rename(`R${round}`)
    await Promise.all(logs.map((log) => writeCheckpoint(live.database, log)))
  }
  expect(readCheckpoints(await lines(), key)).toHaveLength(5)
})

test('HO-08 a database put back to an earlier state is found behind, until the restore is accepted and the epoch bumped', async () => {
  const append = appendWith({ region: 'test', key: await auditKey(live.database, parseKeyRing(testKeys)) })
  await live.sql('create table old_logs as table audit_logs; create table old_heads as table audit_heads')
  await rename('After the backup')
  await writeCheckpoint(live.database, openLog())
  expect(await behindCheckpoints(live.database, openLog())).toBeNull()

  await live.sql(`truncate audit_logs, audit_heads; insert into audit_logs select * from old_logs; insert into audit_heads select * from old_heads;
                  update installation set checkpoint_number = 0`)
  expect(await behindCheckpoints(live.database, openLog())).toContain(`tenant ${org.aurora}`)
  expect(await acceptRestore(live.database, openLog(), append, 'disk lost')).toBe(2)
  expect(await behindCheckpoints(live.database, openLog())).toBeNull()
  await expect(acceptRestore(live.database, openLog(), append, 'a slip')).rejects.toThrow('nothing to accept')
  const [row] = await live.sql("select severity, metadata from audit_logs where action = 'installation.restore.accept'")
  expect(row).toMatchObject({ severity: 'high', metadata: { epoch: 2, reason: 'disk lost', found: expect.stringContaining(org.aurora) } })

  // Life goes on, and the record verifies with the memory of both times.
  await rename('Another future')
  await writeCheckpoint(live.database, openLog())
  const memory = memoryOf(readCheckpoints(await lines(), key))
  expect((await verifyChains(live.database.reader, await auditKey(live.database, parseKeyRing(testKeys)), memory)).faults).toEqual([])
})

test('HO-08 re-wrapping moves every secret to the active key, after which the old key is not needed', async () => {
  const append = appendWith({ region: 'test', key: await auditKey(live.database, parseKeyRing(testKeys)) })
  const fresh = `fresh:${randomBytes(32).toString('base64url')}`
  const before = (await ownSecret(live.database, parseKeyRing(testKeys), 'cursor_key')).reveal()
  const both = parseKeyRing(`${fresh},${testKeys}`)
  expect(await rewrap(live.database, both, [installationEnvelopes], append)).toEqual({ 'installation_secrets.envelope': 3 })
  expect(await rewrap(live.database, both, [installationEnvelopes], append)).toEqual({ 'installation_secrets.envelope': 0 })
  expect((await ownSecret(live.database, parseKeyRing(fresh), 'cursor_key')).reveal()).toBe(before)
  await expect(ownSecret(live.database, parseKeyRing(testKeys), 'cursor_key')).rejects.toThrow('no key with the id')
  expect(await live.sql("select metadata from audit_logs where action = 'installation.rewrap'")).toMatchObject([
    { metadata: { rows: 3, key_id: 'fresh' } },
  ])
  const stored = JSON.stringify(await live.sql('select * from installation_secrets'))
  expect(stored).not.toContain(before)
})

test('HO-08 of processes that start together the first makes the secret', async () => {
  await live.sql('delete from installation_secrets')
  const made = await Promise.all(Array.from({ length: 8 }, () => ownSecret(live.database, parseKeyRing(testKeys), 'cursor_key')))
  expect(new Set(made.map((secret) => secret.reveal())).size).toBe(1)
})

test('AU-02 a busy installation verifies while it is written to and checkpointed', async () => {
  const auditing = await auditKey(live.database, parseKeyRing(testKeys))
  const store = checkpointFile(file)
  const log = openLog()
  let isBusy = true
  const busy = Promise.all([
    (async () => {
      for (let n = 0; isBusy; n += 1) await rename(`Busy ${n}`)
    })(),
    (async () => {
      while (isBusy) await writeCheckpoint(live.database, log)
    })(),
  ])
  for (let round = 0; round < 30; round += 1) expect((await verifyRecord(live.database, auditing, store, key)).faults).toEqual([])
  isBusy = false
  await busy
})

test('AU-02 a checkpoint written while the file is read is not missed', async () => {
  const auditing = await auditKey(live.database, parseKeyRing(testKeys))
  const store = checkpointFile(file)
  const log = openLog()
  const slow = {
    ...store,
    linesFrom: async (place: number) => {
      const read = await store.linesFrom(place)
      await rename('Meanwhile')
      await writeCheckpoint(live.database, log)
      return read
    },
  }
  expect((await verifyRecord(live.database, auditing, slow, key)).faults).toEqual([])
})

test('HO-08 a restored backup revives no token: the epoch that its acceptance begins ends them all', async () => {
  const { token, jti } = await (await machineOn(live.sql, { org_id: org.aurora, project_id: seeded.project.aurora })).mint()
  const status = async () =>
    (
      await live.ask(null, listProjectBindings, {
        params: { project_id: seeded.project.aurora },
        headers: { authorization: `Bearer ${token}` },
      })
    ).status
  expect(await status()).toBe(200)
  await live.ask('ada', revokeTokens, { body: { token_id: jti } })
  expect(await status()).toBe(401)
  // As an older backup would have it.
  await live.sql('update issued_tokens set revoked_at = null, revoked_by = null, revoke_reason = null where id = $1', [jti])
  expect(await status()).toBe(200)
  const append = appendWith({ region: 'test', key: await auditKey(live.database, parseKeyRing(testKeys)) })
  await acceptRestore(live.database, openLog(), append, 'test', { isForced: true })
  expect(await status()).toBe(401)
})

test('HO-08 a restored backup revives no credential: keys of before open nothing, and new ones must be made', async () => {
  await live.setPolicy('auth.service_account_max_keys', 1)
  const sa = await machineWithSecret(live)
  const states = async () =>
    (
      await live.ask('aldo', listServiceAccountKeys, {
        params: { project_id: seeded.project.aurora, service_account_id: sa.service_account_id },
      })
    ).body.items.map((key: { key_id: string; state: string }) => [key.key_id, key.state])
  expect((await sa.ask()).status).toBe(200)
  expect(
    (
      await live.ask('aldo', revokeServiceAccountKey, {
        params: { project_id: seeded.project.aurora, service_account_id: sa.service_account_id, key_id: sa.key_id },
        body: { reason: 'lost' },
      })
    ).status,
  ).toBe(204)
  expect((await sa.ask()).status).toBe(401)
  // As an older backup would have it: whoever has the secret that was lost could use it again.
  await live.sql('update service_account_keys set revoked_at = null, revoked_by = null, revoke_reason = null where id = $1', [sa.key_id])
  expect((await sa.ask()).status).toBe(200)
  expect(await states()).toEqual([[sa.key_id, 'active']])

  const append = appendWith({ region: 'test', key: await auditKey(live.database, parseKeyRing(testKeys)) })
  await acceptRestore(live.database, openLog(), append, 'test', { isForced: true })
  const refused = await sa.ask()
  const wrong = await sa.ask({ client_secret: 'wrong' })
  const told = ({ status, body }: typeof refused) => [status, { ...body, correlation_id: '' }]
  expect(told(refused)).toEqual(told(wrong))
  expect(refused.status).toBe(401)
  expect(await live.auditOf(refused.headers.get('x-correlation-id')!)).toMatchObject([
    { action: 'auth.token.deny', metadata: { why: 'key_of_earlier_epoch', key_id: sa.key_id } },
  ])
  expect(await states()).toEqual([[sa.key_id, 'ended_by_restore']])
  const rotated = await live.ask('aldo', rotateServiceAccountKey, {
    params: { project_id: seeded.project.aurora, service_account_id: sa.service_account_id, key_id: sa.key_id },
    body: {},
  })
  expect([rotated.status, rotated.body.code, rotated.body.details]).toEqual([409, 'state_conflict', { state: 'ended_by_restore' }])

  // Servers begin anew on a restored database; the first of them sees to the keys.
  await live.replica()
  // One that has ended takes no room, and a new one opens.
  const made = await live.ask('aldo', createServiceAccountKey, {
    params: { project_id: seeded.project.aurora, service_account_id: sa.service_account_id },
    body: {},
  })
  expect(made.status, made.text).toBe(201)
  const { key_id, client_secret } = made.body
  expect((await sa.ask({ key_id, client_secret })).status).toBe(200)
  expect(await states()).toEqual([
    [sa.key_id, 'ended_by_restore'],
    [key_id, 'active'],
  ])
  // The lost one can still be revoked, for the record.
  expect(
    (
      await live.ask('aldo', revokeServiceAccountKey, {
        params: { project_id: seeded.project.aurora, service_account_id: sa.service_account_id, key_id: sa.key_id },
        body: { reason: 'lost' },
      })
    ).status,
  ).toBe(204)
})
