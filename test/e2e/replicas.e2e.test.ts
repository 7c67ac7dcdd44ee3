import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { keepFresh } from '../../server/src/epochs/fresh.ts'
import { type Build, brokenAs } from '../faults/builds.ts'
import { filesUnder, matchesOf } from '../house/tree.ts'
import { type LiveServer, liveServer } from '../live-server.ts'
import { farDatabase } from '../replicas/far-database.ts'
import { type Scene, sceneOn } from '../replicas/revokes.ts'
import { allowsIn, playRounds } from '../replicas/rounds.ts'
import { roundsToFind, sensitivityOf } from '../replicas/sensitivity.ts'
import { asSuperuser } from '../superuser.ts'

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
        const own = at === 2 ? { ...parts, fresh: keepFresh(farDatabase(parts.database, 5)) } : parts
        return broken?.(own, parts.database) ?? own
      }),
    )
    return (await Promise.all(started)).map(({ url }) => url)
  }

  let enough = 0
  test('a build that caches for 200 ms is found out', async () => {
    const found = sensitivityOf(await roundsToFind(scene, await servers(3, 'caches_for_200_ms'), 5))
    expect(found.needed.filter(Number.isNaN)).toEqual([])
    enough = found.enough
  })

  test('DE-19 three: nothing that begins after a revoke was answered is allowed by what it ended', async () => {
    expect(enough).toBeGreaterThanOrEqual(10)
    // Far more than that build lasted; and each kind of revoke in each form of asking.
    const rounds = await playRounds(scene, await servers(3), Math.max(enough, 10 * scene.revokes.length))
    expect(allowsIn(rounds)).toEqual([])
    expect(Math.min(...rounds.map(({ before, after }) => Math.min(before, after)))).toBeGreaterThanOrEqual(3)
  }, 300_000)

  test.for([1, 2])('DE-19 %i: likewise', async (count) => {
    expect(allowsIn(await playRounds(scene, await servers(count), 2 * scene.revokes.length))).toEqual([])
  })

  test('DE-19 rests on no notification: none is sent, none is listened for, and it holds where none can be sent (C2)', async () => {
    // SQL stands in these and nowhere else.
    const sources = ['server/src', 'db'].flatMap(filesUnder).filter((path) => /-queries\.ts$|\.sql$|\/database\.ts$/.test(path))
    const notification = /\bpg_notify\b|\bnotify\s|\blisten\s|\bunlisten\b|'notification'/i
    expect(matchesOf(sources, notification)).toEqual([])
    for (const text of ["perform pg_notify('c', '')", 'notify c', 'listen "c"', "client.on('notification', …)"])
      expect(text).toMatch(notification)
    const [{ n }] = (await live.sql<{ n: number }>(
      `select count(*)::int as n from pg_proc where pronamespace = 'public'::regnamespace and prosrc ~* 'notify'`,
    )) as [{ n: number }]
    expect(n).toBe(0)
    const { pathname } = new URL(live.clone.appUrl)
    await asSuperuser(Object.assign(new URL(inject('postgres').superuserUrl), { pathname }).href, (client) =>
      client.query('revoke execute on function pg_notify(text, text) from public'),
    )
    expect(allowsIn(await playRounds(scene, await servers(3), scene.revokes.length))).toEqual([])
  })
})
