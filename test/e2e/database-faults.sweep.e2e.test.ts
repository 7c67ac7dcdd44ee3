import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Tx } from '../../server/src/ground/db/database.ts'
import type { Statement } from '../../server/src/ground/db/statement.ts'
import { judgeIntent, judgeSettled, judgeWorld } from '../faults/judge.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { recipes } from '../faults/recipes.ts'
import type { ServerProcess } from '../faults/server-process.ts'
import { stateHash } from '../faults/state-hash.ts'
import { nameOf } from '../faults/statement-faults.ts'
import { type TcpProxy, tcpProxy } from '../faults/tcp-proxy.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { seeded } from '../live-server.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { asSuperuser } from '../superuser.ts'
import { isWhole, sweep } from '../sweep.ts'

const operations = Object.keys(recipes)
/** Bounds what never ends; a busy machine stays far below it. How soon each is refused is a figure of docs/evidence.md. */
const hang_ms = 60_000
/** A server that gives up, as the one that is shipped does. */
const deadlines = { decision_ms: 1000, statement_ms: 5000, round_trip_ms: 2000 }

/** Asks, and says how long the answer took. */
const timed = async (world: FaultWorld, url: string, operation: string, asking: Parameters<FaultWorld['intend']>[1]) => {
  const intent = world.intend(operation, asking)
  const began = performance.now()
  const answer = await world.ask(url, intent)
  return { intent, status: answer?.status ?? 0, ms: performance.now() - began }
}
const me = { person: 'anna', params: {}, body: {} }

describe('a connection that the database ends, and a record that it refuses', () => {
  let clone: ClonedDatabase
  let world: FaultWorld
  let url: string
  let armed: string | null = null
  let statements = 0

  const pid: Statement<{ pid: number }> = {
    name: 'fault_pid',
    text: 'select pg_backend_pid() as pid',
    values: [],
    parse: (row) => row as { pid: number },
  }
  const terminate = async (tx: Tx) => {
    const { pid: number } = await tx.one(pid)
    await asSuperuser(inject('postgres').superuserUrl, (client) => client.query('select pg_terminate_backend($1)', [number]))
  }

  beforeAll(async () => {
    clone = await cloneDatabase()
    world = await faultWorld(clone, { people: 600 })
    url = await world.startHere(async (point, tx) => {
      if ('statement' in point) statements = point.statement
      if (armed !== nameOf(point) || !tx) return
      armed = null
      await terminate(tx)
    })
    await world.sql('create table refusals (name text primary key)')
    for (const [name, tables] of [
      ['refuse_record', ['audit_logs']],
      [
        'refuse_change',
        [
          ...['organizations', 'projects', 'users', 'project_memberships', 'tenant_memberships', 'policy_values', 'policy_constraints'],
          ...['role_definitions', 'role_definition_versions', 'platform_role_bindings', 'tenant_role_bindings', 'project_role_bindings'],
          ...['invitations', 'service_accounts', 'service_account_keys', 'signing_keys', 'issued_tokens', 'token_cutoffs'],
          ...['ssh_public_keys', 'allocations', 'allocation_ssh_public_keys', 'allocation_access_grants'],
          ...['nodes', 'node_enrolments', 'node_certificates', 'node_tasks', 'node_events', 'task_signers'],
          ...['shared_app_runtimes', 'shared_runtime_attachments', 'shared_runtime_members', 'shared_runtime_operator_credentials'],
          ...['shared_runtime_credentials', 'wrapped_deliveries'],
        ],
      ],
    ] as const) {
      await world.sql(`create function ${name}() returns trigger language plpgsql security definer as $$ begin
        if exists (select from public.refusals where name = '${name}') then
          raise exception using errcode = '58030', message = 'could not write';
        end if;
        return new; end $$`)
      for (const table of tables)
        await world.sql(`create trigger ${name} before insert or update on ${table} for each row execute function ${name}()`)
    }
  })
  afterAll(async () => {
    await world.stop()
    await clone.drop()
  })

  /** Behind whoever used the next key another is made, in its own time. */
  const quietHash = async () => {
    for (const keys of ['signing_keys', 'task_signers'])
      await expect.poll(() => world.sql(`select kid from ${keys} where state = 'staged'`)).toHaveLength(1)
    return stateHash(world.sql)
  }

  test.for(sweep('ended connections', operations, 5))(
    'HO-07 %s answers 503 and leaves nothing behind when its connection is ended at a statement',
    async (operation) => {
      await timed(world, url, operation, await world.prepare(operation, world.stageOn(url)))
      const points = Array.from({ length: statements }, (_, index) => `before statement ${index + 1}`)
      // Each operation at every fifth of its statements, the next one at the next fifth; at all of them by command.
      const tried = points.filter((_, n) => process.env.GATEHOUSE_EVERY_POINT === '1' || n % 5 === operations.indexOf(operation) % 5)
      for (const point of [...tried, 'before_commit']) {
        const asking = await world.prepare(operation, world.stageOn(url))
        const before = await quietHash()
        armed = point
        const { intent, status } = await timed(world, url, operation, asking)
        expect(`${point} ${status}`).toBe(`${point} 503`)
        expect(await stateHash(world.sql)).toBe(before)
        // The same process, at once: the pool has others.
        await world.ask(url, intent)
        expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
      }
    },
  )

  test.for(sweep('refused records', operations, 5))(
    'AU-01 %s does nothing where its record cannot be written, and records nothing where it cannot be done',
    async (operation) => {
      for (const refusal of ['refuse_record', 'refuse_change']) {
        const asking = await world.prepare(operation, world.stageOn(url))
        const before = await quietHash()
        await world.sql('insert into refusals values ($1)', [refusal])
        const { intent, status } = await timed(world, url, operation, asking)
        await world.sql('delete from refusals')
        expect(`${refusal} ${status}`).toBe(`${refusal} 503`)
        expect(await stateHash(world.sql)).toBe(before)
        await world.ask(url, intent)
        expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
      }
    },
  )

  test('AU-01 after all of it the record tells exactly what there is', async () => {
    expect(await judgeWorld(world, world.journal.read())).toEqual([])
  })
})

describe('a line to the database that is slow, silent or cut', () => {
  let clone: ClonedDatabase
  let world: FaultWorld
  let proxy: TcpProxy
  let server: ServerProcess

  beforeAll(async () => {
    clone = await cloneDatabase()
    world = await faultWorld(clone)
    const { hostname, port } = new URL(clone.appUrl)
    proxy = await tcpProxy({ host: hostname, port: Number(port) })
    server = await world.start({ appUrl: proxy.urlOf(clone.appUrl), deadlines })
    await timed(world, server.url, 'me.read', me)
  })
  afterAll(async () => {
    await world.stop()
    await proxy.stop()
    await clone.drop()
  })

  const recovery = async () => {
    const began = performance.now()
    for (;;) {
      const { status } = await timed(world, server.url, 'me.read', me)
      const ms = performance.now() - began
      if (status === 200 || ms > hang_ms) return ms
      await sleep(50)
    }
  }

  test('HO-07 a line that is slow makes answers late, and none of them wrong', async () => {
    for (const delay of isWhole ? [25, 250] : [25]) {
      const asked = await Promise.all(
        ['organization.create', 'user.disable', 'project.member.add', 'me.read'].map(async (operation) => ({
          operation,
          asking: await world.prepare(operation, world.stageOn(server.url)),
        })),
      )
      proxy.delay(delay)
      const answers = await Promise.all(asked.map(({ operation, asking }) => timed(world, server.url, operation, asking)))
      proxy.heal()
      for (const { intent, status, ms } of answers) {
        expect([200, 201, 503]).toContain(status)
        expect(ms).toBeLessThan(hang_ms)
        await world.ask(server.url, intent)
        expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
      }
    }
  })

  test('HO-07 a silent line is 503 for everything, however many ask, and heals by itself', async () => {
    const asked = []
    // Of those that would take the same thing from each other, one.
    const alone = operations.filter((operation) => recipes[operation]?.is_alone)
    for (const operation of sweep('silent', operations, 12).filter((each) => !alone.slice(1).includes(each)))
      asked.push({ operation, asking: await world.prepare(operation, world.stageOn(server.url)) })
    proxy.silence()
    const many = Array.from({ length: 100 }, () => timed(world, server.url, 'me.read', me))
    const answers = await Promise.all([...asked.map(({ operation, asking }) => timed(world, server.url, operation, asking)), ...many])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(hang_ms)
    expect((await timed(world, server.url, 'me.read', me)).status).toBe(503)
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    proxy.heal()
    expect(await recovery()).toBeLessThan(hang_ms)
    expect(server.isAlive()).toBe(true)
    for (const { intent } of answers.slice(0, asked.length)) {
      await world.ask(server.url, intent)
      expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
    }
  })

  test('HO-07 a line that falls silent in the middle of the work ends it', async () => {
    const asking = await world.prepare('organization.member.remove', world.stageOn(server.url))
    proxy.delay(100)
    const running = timed(world, server.url, 'organization.member.remove', asking)
    await sleep(900)
    proxy.silence()
    const { intent, status } = await running
    expect(status).toBe(503)
    proxy.heal()
    expect(await recovery()).toBeLessThan(hang_ms)
    await world.ask(server.url, intent)
    expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
  })

  test('HO-07 a line that is cut after any number of bytes is 503 at worst, and nothing is half done', async () => {
    const seen = new Set<number>()
    for (const bytes of sweep(
      'cut after',
      Array.from({ length: 20 }, (_, n) => n * 450),
      5,
    )) {
      const asking = await world.prepare('project.member.remove', world.stageOn(server.url))
      proxy.cutAfter(bytes)
      const { intent, status } = await timed(world, server.url, 'project.member.remove', asking)
      seen.add(status)
      proxy.heal()
      const { faults } = await judgeIntent(world.sql, world.journal.of(intent))
      expect(faults).toEqual([])
      expect(await recovery()).toBeLessThan(hang_ms)
      await world.ask(server.url, intent)
      expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
    }
    expect([...seen].filter((status) => status !== 204 && status !== 503)).toEqual([])
    if (isWhole) expect(seen).toContain(503)
    expect(await judgeWorld(world, world.journal.read())).toEqual([])
  })
})

describe('a database that is killed', () => {
  test.for(['killed with -9', 'stopped'])(
    'HO-07 %s and started again under load: 503 meanwhile, and well again without a restart',
    async (how) => {
      const postgres = await ownPostgres()
      const world = await faultWorld(postgres)
      let isOver = false
      try {
        const server = await world.start({ logLevel: 'error' })
        const stage = world.stageOn(server.url)
        const intents: ReturnType<typeof world.intend>[] = []
        const seen: { status: number; ms: number }[] = []
        const lane = async (operation: string) => {
          while (!isOver) {
            const word = stage.word()
            const body =
              operation === 'organization.create' ? { name: word, slug: word, owner_user_id: seeded.user('alice'), reason: word } : {}
            const person = operation === 'organization.create' ? 'ada' : 'anna'
            const { intent, status, ms } = await timed(world, server.url, operation, { person, params: {}, body })
            if (operation === 'organization.create') intents.push(intent)
            seen.push({ status, ms })
            await sleep(5)
          }
        }
        // More than there are connections: some of them are handed on while the database says its last word.
        const readers = Array.from({ length: 24 }, () => 'me.read')
        const load = Promise.all(['organization.create', 'organization.create', ...readers].map(lane))
        const statuses = () => [...new Set(seen.map(({ status }) => status))].sort()
        await expect.poll(statuses).toEqual([200, 201])
        if (how === 'stopped') await postgres.halt()
        else await postgres.kill()
        await expect.poll(statuses).toEqual([200, 201, 503])
        expect(server.isAlive() ? '' : server.output()).toBe('')
        expect((await fetch(`${server.url}/readyz`)).status).toBe(503)
        await postgres.restart()
        const back = seen.length
        // Until both lanes of changes and many readers have been answered well, one after the other.
        const sinceRefusal = () => seen.slice(Math.max(back, seen.findLastIndex(({ status }) => status === 503) + 1))
        await expect
          .poll(() => sinceRefusal().length > 100 && sinceRefusal().some(({ status }) => status === 201), { timeout: hang_ms })
          .toBe(true)
        isOver = true
        await load
        expect(server.isAlive()).toBe(true)
        const broken = server
          .output()
          .split('\n')
          .filter((line) => line.includes('internal_error'))
        expect(broken.slice(0, 3)).toEqual([])
        expect(statuses()).toEqual([200, 201, 503])
        expect(Math.max(...seen.map(({ ms }) => ms))).toBeLessThan(hang_ms)
        for (const intent of intents) {
          await world.ask(server.url, intent)
          expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
        }
        expect(await judgeWorld(world, world.journal.read())).toEqual([])
      } finally {
        isOver = true
        await world.stop()
        await postgres.stop()
      }
    },
  )
})
