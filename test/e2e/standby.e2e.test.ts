import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backup } from '../../server/src/ground/db/copy/backup.ts'
import { restore } from '../../server/src/ground/db/copy/restore.ts'
import { openDatabase } from '../../server/src/ground/db/database.ts'
import type { PrimaryGuard } from '../../server/src/ground/db/primary-guard.ts'
import { prepareDatabase } from '../../server/src/process/prepare-database.ts'
import { sentenceOf } from '../../server/src/process/start-sentence.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { startStandby } from '../faults/standby.ts'
import { type TcpProxy, tcpProxy } from '../faults/tcp-proxy.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { seeded } from '../live-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { unhurried } from '../unhurried.ts'

const { org, user } = seeded
const copies = temporaryFolder('standby')
const asks = 20
const hang = { timeout: 60_000 }

let primary: Awaited<ReturnType<typeof ownPostgres>>
let standby: Awaited<ReturnType<typeof startStandby>>
let world: FaultWorld
/** The pool that changes, and the pool that proves: each by way of a proxy that can lead it to another server. */
let changing: TcpProxy & { lead: (port: number) => void }
let proving: TcpProxy & { lead: (port: number) => void }
let sound: string
let broken: string
let direct: string

const leading = async (port: number) => {
  const target = { host: '127.0.0.1', port }
  const proxy = await tcpProxy(target)
  /** New connections reach the other server; the old ones are reset, as by a proxy that has noticed something. */
  const lead = (next: number) => {
    target.port = next
    proxy.cut()
  }
  return { ...proxy, lead }
}

const call = async (base: string, person: string, method: string, path: string, body?: unknown) => {
  const response = await fetch(`${base}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${await world.tokenOf(person)}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json().catch(() => null)) as { decision?: string } | null }
}
const decisionOf = async (base: string, person: string) => {
  const question = { action: 'tenant.read', resource: { type: 'organization', id: org.aurora } }
  const { status, body } = await call(base, person, 'POST', '/authz/decisions', question)
  return body?.decision ?? String(status)
}
const decisionsOf = async (base: string, person: string) => {
  const said = new Set<string>()
  for (let times = 0; times < asks; times += 1) said.add(await decisionOf(base, person))
  return [...said]
}
const removed = async (base: string, person: string) =>
  (await call(base, 'alice', 'DELETE', `/orgs/${org.aurora}/members/${user(person)}`)).status
const readiness = async (base: string) => (await fetch(`${base}/readyz`)).status

beforeAll(async () => {
  primary = await ownPostgres()
  standby = await startStandby(primary)
  world = await faultWorld(primary, { people: 1 })
  changing = await leading(primary.port)
  proving = await leading(primary.port)
  const reaching = { appUrl: changing.urlOf(primary.appUrl), deciding_url: proving.urlOf(primary.appUrl) }
  const believing: PrimaryGuard = { require: () => {} }
  const untouched = () => {}
  sound = await world.startHere(untouched, reaching)
  broken = await world.startHere(untouched, { ...reaching, primary: believing })
  direct = await world.startHere(untouched)
}, 120_000)
afterAll(async () => {
  await world?.stop()
  await Promise.all([changing?.stop(), proving?.stop()])
  await standby?.stop()
  await primary?.stop()
}, 60_000)

test('DE-19 HA-01 decision: the proofs come from a hot standby whose replay is paused → 503 and not ready; control: it allows', async () => {
  for (const base of [sound, broken]) expect(await decisionOf(base, 'arne')).toBe('allow')
  await expect.poll(standby.isUp, hang).toBe(true)
  await expect.poll(standby.hasCaughtUp, hang).toBe(true)
  await standby.pause()
  await expect.poll(standby.isPaused, hang).toBe(true)
  proving.lead(standby.port)
  expect(await removed(direct, 'arne')).toBe(204)
  expect(await decisionsOf(sound, 'arne')).toEqual(['503'])
  expect(await readiness(sound)).toBe(503)
  // The control, whose proof does not ask who gives it.
  expect(await decisionsOf(broken, 'arne')).toContain('allow')

  // Back at the primary it recovers by itself.
  proving.lead(primary.port)
  await expect.poll(() => readiness(sound), hang).toBe(200)
  await expect.poll(() => decisionOf(sound, 'arne'), hang).toBe('deny')
})

test('HA-01 a server is started on a hot standby → it refuses with the cause', async () => {
  const database = openDatabase({ url: standby.appUrl, max_connections: 1, ...unhurried.database })
  expect(await database.ping()).toBe(false)
  const refused = await database.transaction('read', async () => 'worked').catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'dependency_unavailable' })
  expect(sentenceOf(refused)).toBe('The server in DATABASE_URL is a hot standby or a former primary; name the primary there.')
  await database.close()
})

test('HO-09 HA-01 backup, restore, preparation: the URL of the owner names a hot standby → refused with the cause, and no file', async () => {
  const [folder, appRole] = [copies, decodeURIComponent(new URL(standby.appUrl).username)]
  const said = expect.stringContaining('The server in DATABASE_OWNER_URL is a hot standby')
  const { ownerUrl } = standby
  const refused = async (act: Promise<unknown>) => sentenceOf(await act.catch((error: unknown) => error))
  expect(await refused(backup({ ownerUrl, to: join(folder, 'of-standby') }))).toEqual(said)
  expect(readdirSync(folder)).toEqual([])
  expect(await refused(prepareDatabase({ ownerUrl, appRole }))).toEqual(said)
  await backup({ ownerUrl: primary.ownerUrl, to: join(folder, 'of-primary') })
  expect(await refused(restore({ ownerUrl, appRole, from: join(folder, 'of-primary') }))).toEqual(said)
})

test('DE-19 HA-01 decision: the proofs come from a deposed primary → 503 and not ready; control: it allows', async () => {
  await standby.resume()
  await expect.poll(standby.hasCaughtUp, hang).toBe(true)
  for (const base of [sound, broken]) expect(await decisionOf(base, 'anna')).toBe('allow')
  // The former primary runs on and nobody has told it, as when its supervisor hangs. One pool of the process follows, the other does not.
  await standby.promote()
  changing.lead(standby.port)
  const after = await world.startHere(() => {}, { appUrl: standby.appUrl })
  expect(await removed(after, 'anna')).toBe(204)
  expect(await readiness(sound)).toBe(503)
  expect(await decisionsOf(sound, 'anna')).toEqual(['503'])
  expect(await decisionsOf(broken, 'anna')).toContain('allow')

  proving.lead(standby.port)
  await expect.poll(() => readiness(sound), hang).toBe(200)
  await expect.poll(() => decisionOf(sound, 'anna'), hang).toBe('deny')
})
