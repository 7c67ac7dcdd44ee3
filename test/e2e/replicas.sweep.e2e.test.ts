import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { keepFresh } from '../../server/src/ground/epochs/fresh.ts'
import { type Build, brokenAs } from '../faults/builds.ts'
import { type TcpProxy, tcpProxy } from '../faults/tcp-proxy.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { filesUnder, matchesOf } from '../house/tree.ts'
import { type LiveServer, liveServer, seeded } from '../live-server.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { type Answer, send } from '../replicas/asking.ts'
import { farDatabase } from '../replicas/far-database.ts'
import { type Scene, sceneOn } from '../replicas/revokes.ts'
import { allowsIn, playRounds, playTogether } from '../replicas/rounds.ts'
import { roundsToFind, sensitivityOf } from '../replicas/sensitivity.ts'
import { asSuperuser } from '../superuser.ts'
import { amount, isWhole, seededNumber } from '../sweep.ts'
import { unhurried } from '../unhurried.ts'

/** Bounds what never ends; a busy machine stays far below it. */
const hang_ms = 40_000
/** In a share of the rounds, which come first: others with every seed. */
const firstRound = isWhole ? 0 : seededNumber('first round') % 1000

describe('several servers on one database, asked before, during and after each revoke', () => {
  let live: LiveServer
  let scene: Scene
  beforeAll(async () => {
    live = await liveServer()
    scene = await sceneOn(live)
  })
  afterAll(() => live.stop())

  /** The last of them has a long line to the database. */
  const servers = async (count: number, build: Build = 'sound') => {
    const { parts: broken } = brokenAs(build) as ReturnType<typeof brokenAs>
    const started = Array.from({ length: count }, (_, at) =>
      live.replica((parts) => {
        const own = at === 2 ? { ...parts, fresh: keepFresh(farDatabase(parts.database, 5), unhurried.fresh) } : parts
        return broken?.(own, parts.database) ?? own
      }),
    )
    return (await Promise.all(started)).map(({ url }) => url)
  }

  let enough = 0
  // The control, and with it how many rounds are enough, belongs to `npm run test:all`.
  if (isWhole)
    test('a build that caches for 200 ms is found out', async () => {
      const found = sensitivityOf(await roundsToFind([scene], await servers(3, 'caches_for_200_ms'), 5))
      expect(found.needed.filter(Number.isNaN)).toEqual([])
      enough = found.enough
    })

  test('DE-19 three: nothing that begins after a revoke was answered is allowed by what it ended', async () => {
    if (isWhole) expect(enough).toBeGreaterThanOrEqual(10)
    // Far more than that build lasted; and each kind of revoke in each form of asking.
    const rounds = await playRounds(scene, await servers(3), isWhole ? Math.max(enough, 10 * scene.revokes.length) : scene.revokes.length)
    expect(allowsIn(rounds)).toEqual([])
    expect(Math.min(...rounds.map(({ before, after }) => Math.min(before, after)))).toBeGreaterThanOrEqual(3)
  })

  test.for([1, 2])('DE-19 %i: likewise', async (count) => {
    expect(allowsIn(await playTogether([scene], await servers(count), amount(4, 2 * scene.revokes.length), { first: firstRound }))).toEqual(
      [],
    )
  })

  test('DE-19 rests on no notification: only nodes are woken by one, nothing else is sent or listened for, and it holds where none can be sent (C2)', async () => {
    // SQL stands in these and nowhere else. A node that waits is woken, and looks for itself; nothing is decided by it.
    const sources = ['server/src', 'db'].flatMap(filesUnder).filter((path) => /-queries\.ts$|\.sql$|\/database\.ts$/.test(path))
    const notification = /\bpg_notify\b(?!\('gatehouse_node_tasks')|\bnotify\s|\blisten\s|\bunlisten\b|'notification'/i
    expect(matchesOf(sources, notification)).toEqual([])
    for (const text of ["perform pg_notify('c', '')", 'notify c', 'listen "c"', "client.on('notification', …)"])
      expect(text).toMatch(notification)
    const [{ n }] = (await live.sql<{ n: number }>(
      `select count(*)::int as n from pg_proc where pronamespace = 'public'::regnamespace and prosrc ~* 'notify' and proname !~ '^wake_'`,
    )) as [{ n: number }]
    expect(n).toBe(0)
    const { pathname } = new URL(live.clone.appUrl)
    await asSuperuser(Object.assign(new URL(inject('postgres').superuserUrl), { pathname }).href, (client) =>
      client.query('revoke execute on function pg_notify(text, text) from public'),
    )
    expect(allowsIn(await playTogether([scene], await servers(3), amount(4, scene.revokes.length), { first: firstRound }))).toEqual([])
  })
})

describe('a server whose line to the database is silent or slow', () => {
  let clone: ClonedDatabase
  let world: FaultWorld
  let proxy: TcpProxy
  let scene: Scene
  let near: string
  let far: string
  beforeAll(async () => {
    clone = await cloneDatabase()
    world = await faultWorld(clone, { people: 0 })
    scene = await sceneOn(world)
    const { hostname, port } = new URL(clone.appUrl)
    proxy = await tcpProxy({ host: hostname, port: Number(port) })
    near = (await world.start()).url
    far = (
      await world.start({ appUrl: proxy.urlOf(clone.appUrl), deadlines: { decision_ms: 4000, statement_ms: 5000, round_trip_ms: 2000 } })
    ).url
  })
  afterAll(async () => {
    await world.stop()
    await proxy.stop()
    await clone.drop()
  })

  const revoke = () => scene.revokes.find(({ kind }) => kind === 'membership of an organization removed')!
  const timed = async (asking: Promise<Answer>) => {
    const began = performance.now()
    const { status, body } = await asking
    return { began, status, said: body?.decision as string | undefined, ms: performance.now() - began }
  }
  const decideAt = (base: string) => timed(send(base, 'POST', '/api/v1/authz/decisions', scene.person.token, revoke().question))
  const changeAt = (base: string) => timed(send(base, 'PATCH', `/api/v1/orgs/${seeded.org.aurora}`, scene.other, { name: 'Changed' }))
  const readinessOf = async (base: string) => (await fetch(`${base}/readyz`)).status
  /** Until it answers again, whatever it says. */
  const recovery = async () => {
    const began = performance.now()
    for (;;) {
      const answer = await decideAt(far)
      const after = performance.now() - began
      if (answer.status !== 503 || after > hang_ms) return { ...answer, after }
      await sleep(20)
    }
  }

  test('DE-19 cut off, it refuses and allows nothing; healed, it is back and knows what it missed', async () => {
    expect((await decideAt(far)).said).toBe('allow')
    const seen: Awaited<ReturnType<typeof decideAt>>[] = []
    let isOver = false
    const lane = async (ask: (base: string) => ReturnType<typeof decideAt>) => {
      while (!isOver) {
        seen.push(await ask(far))
        await sleep(10)
      }
    }
    const load = Promise.all([decideAt, decideAt, decideAt, decideAt, changeAt, changeAt].map(lane))
    await sleep(500)
    proxy.silence()
    const cut = performance.now()
    await revoke().revoke(near)
    expect((await decideAt(near)).said).not.toBe('allow')
    const many = await Promise.all(Array.from({ length: 100 }, () => decideAt(far)))
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set([503]))
    const refused = performance.now()
    expect(await readinessOf(far)).toBe(503)
    expect(await readinessOf(near)).toBe(200)
    await sleep(Math.max(0, cut + amount(1000, 6000) - performance.now()))
    isOver = true
    await load
    const late = seen.filter(({ began }) => began > cut)
    expect(new Set(late.map(({ status }) => status))).toEqual(new Set([503]))
    // A request that began before the cut has the same deadline as those after it: once these are refused, no allow can come any more.
    expect(seen.filter(({ began, ms, said }) => said === 'allow' && began + ms > refused)).toEqual([])
    expect(Math.max(...[...many, ...late].map(({ ms }) => ms))).toBeLessThan(hang_ms)
    proxy.heal()
    const back = await recovery()
    expect(back.after).toBeLessThan(hang_ms)
    expect(back.said).not.toBe('allow')
    expect(await readinessOf(far)).toBe(200)
    await revoke().restore(near)
  })

  test.for(isWhole ? [50, 500, 20_000] : [50, 20_000])(
    'DE-19 a round trip that is %i ms longer makes decisions late or, after their deadline, refused, and never wrong (J4)',
    async (delay) => {
      expect((await recovery()).said).toBe('allow')
      proxy.delay(delay / 2)
      const warm: Awaited<ReturnType<typeof decideAt>>[] = []
      for (let times = 0; times < 5; times += 1) warm.push(await decideAt(far))
      await revoke().revoke(near)
      const after: typeof warm = []
      for (let times = 0; times < 5; times += 1) after.push(await decideAt(far))
      const many = await Promise.all(Array.from({ length: 50 }, () => decideAt(far)))
      proxy.heal()
      const all = [...warm, ...after, ...many]
      expect(all.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
      expect(Math.max(...all.map(({ ms }) => ms))).toBeLessThan(hang_ms)
      // The deadline is four seconds: half a second for a round trip may go either way on a busy machine.
      if (delay !== 500) expect(new Set(warm.map(({ status }) => status))).toEqual(new Set([delay < 500 ? 200 : 503]))
      expect([...after, ...many].filter(({ said }) => said === 'allow')).toEqual([])
      const back = await recovery()
      expect(back.after).toBeLessThan(hang_ms)
      expect(back.said).not.toBe('allow')
      await revoke().restore(near)
    },
  )
})
