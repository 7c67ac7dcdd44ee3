import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seedDevelopment } from '@gatehouse/server/process/seed-development'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type LocalIssuer, localIssuer, signText } from '../../server/src/people/principals/oidc/testing/local-issuer.ts'
import { bundleOf } from '../bundles.ts'
import { seeded } from '../live-server.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { asSuperuser } from '../superuser.ts'
import { isWhole } from '../sweep.ts'
import { addressOf, launcher } from './launched.ts'

const project = join(import.meta.dirname, '../..')
const key = () => `development-${randomBytes(32).toString('base64url')}`

let issuer: LocalIssuer
let folder: string
let clone: ClonedDatabase
let keys: string
let settings: Record<string, string> = {}
const processes = launcher()
const clones: ClonedDatabase[] = []

beforeAll(async () => {
  issuer = await localIssuer()
})
afterAll(() => issuer.stop())
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-operate-'))
  clone = await newDatabase()
  keys = `one:${key()}`
  settings = {}
  await seedDevelopment({ databaseUrl: clone.appUrl, issuer: issuer.issuer, keys })
})
afterEach(async () => {
  await processes.endAll()
  for (const each of clones.splice(0)) await each.drop()
  rmSync(folder, { recursive: true })
})

const newDatabase = async () => {
  const made = await cloneDatabase()
  clones.push(made)
  return made
}

const environment = (database: ClonedDatabase) => ({
  PATH: process.env.PATH,
  GATEHOUSE_PROFILE: 'development',
  GATEHOUSE_PORT: '0',
  GATEHOUSE_NODES_PORT: '0',
  GATEHOUSE_METRICS_PORT: '0',
  GATEHOUSE_LIFELINE: 'stdin',
  GATEHOUSE_OIDC_ISSUERS: JSON.stringify([issuer.settings]),
  GATEHOUSE_KEY_ENCRYPTION_KEYS: keys,
  GATEHOUSE_CHECKPOINT_FILE: join(folder, 'checkpoints.jsonl'),
  GATEHOUSE_CHECKPOINT_SECONDS: '1',
  DATABASE_URL: database.appUrl,
  DATABASE_OWNER_URL: database.ownerUrl,
  ...settings,
})

const bundles = { server: await bundleOf('server'), operate: await bundleOf('operate') }
const launch = (program: keyof typeof bundles, words: string[], database: ClonedDatabase) =>
  processes.launch(process.execPath, [bundles[program], ...words], { cwd: project, env: environment(database) })

/** A command of the operator's, as `npm run` starts it. */
const operate = async (words: string[], database = clone): Promise<{ code: number | null; text: string }> => {
  const { heard, closed } = launch('operate', words, database)
  return { code: await closed, text: heard.text }
}

const startServer = async (database = clone) => {
  const server = launch('server', [], database)
  const stop = async () => {
    server.child.stdin!.end()
    return server.closed
  }
  return { ...server, url: await addressOf(server), stop }
}
const refusal = async (database = clone) => {
  const { heard, closed } = launch('server', [], database)
  return { code: await closed, text: heard.text }
}

const ask = async (url: string, person: string, method: string, path: string, body?: object) => {
  const now = Math.floor(Date.now() / 1000)
  const token = await signText(issuer.key, JSON.stringify(issuer.claims(now, { sub: person })))
  const headers = { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) }
  return fetch(`${url}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
}
const aurora = `/api/v1/orgs/${seeded.org.aurora}`
const lines = () =>
  (existsSync(join(folder, 'checkpoints.jsonl')) ? readFileSync(join(folder, 'checkpoints.jsonl'), 'utf8') : '')
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** Where this chain ended when it was last signed for. */
const signedAt = (chain: string): number => lines().findLast(({ heads }) => heads[chain])?.heads[chain].seq ?? 0

describe('an installation and its operator', () => {
  test('HO-08 AU-02 backup, loss, restore: nothing starts before it is accepted, no epoch comes twice, and the record verifies', async () => {
    const server = await startServer()
    await ask(server.url, 'alice', 'PATCH', aurora, { name: 'Before' })
    const file = join(folder, 'backup.gz')
    expect(await operate(['backup', file])).toMatchObject({ code: 0 })
    expect((await ask(server.url, 'alice', 'DELETE', `${aurora}/members/${seeded.user('anna')}`)).status).toBe(204)
    await expect.poll(() => signedAt(seeded.org.aurora)).toBe(4)
    expect(await operate(['verify'])).toMatchObject({ code: 0, text: expect.stringContaining('nothing was changed') })
    expect(await operate(['accept-restore', '--reason', 'a slip'])).toMatchObject({
      code: 2,
      text: expect.stringContaining('nothing to accept'),
    })
    expect(await server.stop()).toBe(0)
    expect(await operate(['accept-restore', '--anyway', '--reason', 'restored by other means'])).toMatchObject({
      code: 0,
      text: expect.stringContaining('epoch 2'),
    })

    for (const epoch of isWhole ? [3, 4] : [3]) {
      const fresh = await newDatabase()
      expect(await operate(['restore', file], fresh)).toMatchObject({ code: 0 })
      expect(await refusal(fresh)).toMatchObject({ code: 1, text: expect.stringContaining('it was restored from a backup') })
      expect(await operate(['rewrap'], fresh)).toMatchObject({ code: 2, text: expect.stringContaining('it was restored from a backup') })
      expect(await operate(['accept-restore'], fresh)).toMatchObject({ code: 2, text: expect.stringContaining('Say why') })
      expect(await operate(['accept-restore', '--reason', 'drill'], fresh)).toMatchObject({
        code: 0,
        text: expect.stringContaining(`epoch ${epoch}`),
      })
      const again = await startServer(fresh)
      expect((await ask(again.url, 'alice', 'PATCH', aurora, { name: `Epoch ${epoch}` })).status).toBe(200)
      const verified = (await (await ask(again.url, 'otto', 'GET', '/api/v1/admin/audit-logs/verify')).json()) as {
        accepted: { sentence: string }[]
      }
      expect(await again.stop()).toBe(0)
      // The row of after the backup was given up: told with its epoch, and no fault.
      const gap = expect.stringMatching(`epoch ${epoch}: .*rows \\d+ to \\d+ in the chain of tenant ${seeded.org.aurora} were given up`)
      const command = await operate(['verify'], fresh)
      expect(command).toMatchObject({ code: 0, text: gap })
      // The endpoint and the command tell the same.
      expect(verified).toMatchObject({ faults: [] })
      expect(verified.accepted.map(({ sentence }) => sentence)).toEqual(
        command.text.split('\n').filter((line) => line.startsWith('Accepted at ')),
      )
      if (epoch > 3) continue
      await asSuperuser(fresh.ownerUrl, (client) =>
        client.query(`delete from audit_logs where chain_id = '${seeded.org.aurora}' and seq = 2`),
      )
      const fault = expect.stringMatching(`Fault: In the chain of tenant ${seeded.org.aurora}, row 2 is missing`)
      expect(await operate(['verify'], fresh)).toMatchObject({ code: 1, text: fault })
    }
  })

  test('HO-08 a database put back under a running server: it signs nothing, stops, and does not start again', async () => {
    const server = await startServer()
    await asSuperuser(clone.ownerUrl, async (client) => {
      await client.query('create table old_logs as table audit_logs; create table old_heads as table audit_heads')
      expect((await ask(server.url, 'alice', 'DELETE', `${aurora}/members/${seeded.user('anna')}`)).status).toBe(204)
      await expect.poll(() => signedAt(seeded.org.aurora)).toBe(3)
      const signed = lines().length
      await client.query(`begin; truncate audit_logs, audit_heads; insert into audit_logs select * from old_logs; insert into audit_heads select * from old_heads;
        update tenant_memberships set deleted_at = null, deleted_by = null, delete_reason = null; commit`)
      expect(await server.closed).toBe(1)
      expect(lines()).toHaveLength(signed)
    })
    expect(server.heard.text).toContain('put back under the running server')
    expect(await refusal()).toMatchObject({ code: 1, text: expect.stringContaining('is not the one that a signed checkpoint remembers') })
    expect(await operate(['verify'])).toMatchObject({ code: 1, text: expect.stringContaining(`tenant ${seeded.org.aurora}`) })
  })

  test('AU-02 a checkpoint file that was emptied is missed, by the start and by verification, and can be begun anew knowingly', async () => {
    expect(await (await startServer()).stop()).toBe(0)
    expect(lines()).toHaveLength(1)
    writeFileSync(join(folder, 'checkpoints.jsonl'), '')
    expect(await operate(['verify'])).toMatchObject({ code: 1, text: expect.stringContaining('only 0 are in the checkpoint file') })
    expect(await refusal()).toMatchObject({ code: 1, text: expect.stringContaining('only 0 are in the checkpoint file') })
    expect(await operate(['accept-restore', '--reason', 'file lost'])).toMatchObject({
      code: 2,
      text: expect.stringContaining('add --checkpoints-lost'),
    })
    expect(await operate(['accept-restore', '--checkpoints-lost', '--reason', 'file lost'])).toMatchObject({ code: 0 })
    expect(await (await startServer()).stop()).toBe(0)
    // What was accepted is told, and is no fault.
    expect(await operate(['verify'])).toMatchObject({
      code: 0,
      text: expect.stringMatching(/Accepted at .*, epoch 2: reason "file lost"; found: /),
    })
  })

  test('HO-08 GATEHOUSE_CHECKPOINT_FILE mistyped → start, accept and rewrap name the path, advise no restore, and leave no file', async () => {
    expect(await (await startServer()).stop()).toBe(0)
    // In a folder that is there, and in one that is not.
    for (const name of ['chekpoints.jsonl', 'chekpoints/checkpoints.jsonl']) {
      const mistyped = join(folder, name)
      settings = { GATEHOUSE_CHECKPOINT_FILE: mistyped }
      const said = expect.stringMatching(`only 0 are in the checkpoint file ${mistyped}. Check the path in GATEHOUSE_CHECKPOINT_FILE`)
      const refused = await refusal()
      expect(refused).toMatchObject({ code: 1, text: said })
      expect(refused.text).not.toContain('--accept')
      const commands = [['accept-restore', '--reason', 'as I was told'], ['accept-restore', '--anyway', '--reason', 'r'], ['rewrap']]
      for (const words of isWhole || name === 'chekpoints.jsonl' ? commands : [])
        expect(await operate(words)).toMatchObject({ code: 2, text: said })
      if (name === 'chekpoints.jsonl') expect(await operate(['verify'])).toMatchObject({ code: 1, text: said })
      expect(existsSync(join(folder, name.split('/')[0]!))).toBe(false)
    }
    // A file that is there and is another.
    const other = join(folder, 'another')
    writeFileSync(other, 'another\n')
    settings = { GATEHOUSE_CHECKPOINT_FILE: other }
    const unread = expect.stringContaining(`is not readable. It stands in ${other}; check the path in GATEHOUSE_CHECKPOINT_FILE.`)
    expect(await refusal()).toMatchObject({ code: 1, text: unread })
    settings = { GATEHOUSE_CHECKPOINT_FILE: folder }
    expect(await refusal()).toMatchObject({ code: 1, text: expect.stringContaining(`(${folder}) cannot be used: it is a folder.`) })
    settings = {}
    expect(await (await startServer()).stop()).toBe(0)
    expect(lines().every(({ epoch }) => epoch === 1)).toBe(true)
  })

  test('HO-08 keys:rewrap: a running server does not know the new key → refused with the cause, and nothing is sealed anew', async () => {
    const server = await startServer()
    const old = keys
    const fresh = `two:${key()}`
    const sealedWith = () =>
      asSuperuser(
        clone.ownerUrl,
        async (client) => (await client.query(`select distinct envelope ->> 'key_id' as id from installation_secrets`)).rows,
      )
    keys = `${fresh},${old}`
    expect(await operate(['rewrap'])).toMatchObject({
      code: 2,
      text: expect.stringMatching(/A running server does not know the key two: .*Nothing was changed\./),
    })
    expect(await sealedWith()).toEqual([{ id: 'one' }])
    expect(await server.stop()).toBe(0)
    // The same id with other bytes is another key.
    keys = `${old},two:${key()}`
    const mistaken = await startServer()
    keys = `${fresh},${old}`
    expect(await operate(['rewrap'])).toMatchObject({ code: 2, text: expect.stringContaining('does not know the key two') })
    expect(await mistaken.stop()).toBe(0)
    keys = `${old},${fresh}`
    const knowing = await startServer()
    keys = `${fresh},${old}`
    expect(await operate(['rewrap'])).toMatchObject({ code: 0 })
    expect(await sealedWith()).toEqual([{ id: 'two' }])
    expect((await ask(knowing.url, 'alice', 'PATCH', aurora, { name: 'After' })).status).toBe(200)
    expect(await knowing.stop()).toBe(0)
  })

  test('HO-08 a new key is added, everything sealed anew, the old key taken away', async () => {
    expect(await (await startServer()).stop()).toBe(0)
    const old = keys
    const fresh = `two:${key()}`
    keys = `${fresh},${old}`
    expect(await operate(['rewrap'])).toMatchObject({ code: 0, text: expect.stringContaining('3 re-sealed with two') })
    keys = fresh
    expect(await (await startServer()).stop()).toBe(0)
    expect(await operate(['verify'])).toMatchObject({ code: 0 })
    keys = old
    expect(await refusal()).toMatchObject({ code: 1, text: expect.stringContaining('A secret of this installation does not open') })
  })

  test('a command that is not understood, or lacks something, says so and changes nothing', async () => {
    expect(await operate(['fly'])).toMatchObject({ code: 2, text: expect.stringContaining('There is no command fly') })
    expect(await operate(['backup'])).toMatchObject({ code: 2, text: expect.stringContaining('Say where to') })
    expect(await operate(['restore', join(folder, 'absent')])).toMatchObject({ code: 2 })
  })
})
