import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { clusterCache } from '../cluster-cache.ts'

const template = { database: 'template', owner: { role: 'owner', password: 'x' }, app: { role: 'app', password: 'y' } }

const place = () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-cache-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const made = (name: string) => {
    mkdirSync(join(folder, name))
    return join(folder, name)
  }
  const cluster = made('cluster')
  mkdirSync(join(cluster, 'data'), { mode: 0o700 })
  writeFileSync(join(cluster, 'data/PG_VERSION'), '18')
  writeFileSync(join(cluster, 'data.passwords.json'), '{}', { mode: 0o600 })
  writeFileSync(join(cluster, 'data.log'), 'not kept')
  return { cache: clusterCache(join(folder, 'cache')), kept: join(folder, 'cache'), cluster, made }
}

test('HO-02 test cluster: stored once → every run gets a copy of its own, with modes', async () => {
  const { cache, cluster, made } = place()
  await cache.store('key', cluster, template)
  const [one, other] = [made('one'), made('other')]
  expect(await Promise.all([cache.restore('key', one), cache.restore('key', other)])).toEqual([template, template])
  writeFileSync(join(one, 'data/PG_VERSION'), 'spoiled')
  expect(readFileSync(join(other, 'data/PG_VERSION'), 'utf8')).toBe('18')
  expect(statSync(join(other, 'data')).mode & 0o777).toBe(0o700)
  expect(readdirSync(other).sort()).toEqual(['data', 'data.passwords.json'])
  expect(await cache.restore('key', made('third'))).toEqual(template)
})

test('HO-02 test cluster: another key, or a cluster that lacks a part → nothing is restored and nothing is left', async () => {
  const { cache, kept, cluster, made } = place()
  await cache.store('key', cluster, template)
  const into = made('run')
  expect(await cache.restore('other key', into)).toBeUndefined()
  rmSync(join(kept, 'key/data.passwords.json'))
  expect(await cache.restore('key', into)).toBeUndefined()
  expect(readdirSync(into)).toEqual([])
})

test('HO-02 test cluster: two runs store the same key at once → one of them is kept, whole', async () => {
  const { cache, kept, cluster, made } = place()
  await Promise.all([cache.store('key', cluster, template), cache.store('key', cluster, template)])
  expect(readdirSync(kept)).toEqual(['key'])
  expect(await cache.restore('key', made('run'))).toEqual(template)
})

test('HO-02 test cluster: left half by a killed run, or unused for two days → swept; one in use and one being written stay', async () => {
  const { cache, kept, cluster } = place()
  await cache.store('used', cluster, template)
  await cache.store('old', cluster, template)
  const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000)
  utimesSync(join(kept, 'old'), twoDaysAgo, twoDaysAgo)
  // No process has a number as large.
  for (const pid of [process.pid, 4_194_305]) mkdirSync(join(kept, `.new-${pid}-x`))
  await cache.sweep()
  expect(readdirSync(kept).sort()).toEqual([`.new-${process.pid}-x`, 'used'])
})

test('HO-02 test cluster: a folder that cannot be written → nothing is kept and nothing fails', async () => {
  const { cluster, made } = place()
  const closed = made('closed')
  writeFileSync(join(closed, 'cache'), 'a file in the way')
  chmodSync(closed, 0o500)
  await clusterCache(join(closed, 'cache')).store('key', cluster, template)
  expect(existsSync(join(closed, 'cache/key'))).toBe(false)
})
