import { setTimeout as sleep } from 'node:timers/promises'
import { decide } from '@gatehouse/contract/decisions'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { countedDatabase } from '../../../../test/replicas/counted-database.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import type { Database } from '../db/database.ts'
import { openDatabase } from '../db/database.ts'
import { sql } from '../db/statement.ts'
import { newId } from '../kernel/ids.ts'
import { type Fresh, keepFresh, type Source, want } from './fresh.ts'

let counted: ReturnType<typeof countedDatabase>
let fresh: Fresh
let loads: string[][] = []
const live = serverFixture()
beforeEach(() => {
  counted = countedDatabase(live.database)
  fresh = keepFresh(counted.database, unhurried.fresh)
  loads = []
})
afterEach(() => void vi.useRealTimers())
/** From now on, until the end of the test, the clock of proofs stands still unless it is moved. */
const stopClock = () => vi.useFakeTimers({ toFake: ['performance'] })

const { org, user } = seeded
const Named = Exactly({ id: Type.String(), name: Type.String() })
const namesOf = (ids: readonly string[]) => sql(Named)`select id, name from organizations where id = any(${ids}::uuid[])`
const usernamesOf = (ids: readonly string[]) => sql(Named)`select id, username as name from users where id = any(${ids}::uuid[])`

/** Something small to keep: what an organization, or a person, is called. */
const called = (name: string, statement: typeof namesOf, tenantOf: (id: string) => string | null): Source<string, string> => ({
  name,
  textOf: (id) => id,
  tenantOf,
  load: async (tx, ids) => {
    loads.push([...ids])
    const found = new Map((await tx.many(statement(ids))).map((row) => [row.id, row.name]))
    return ids.map((id) => found.get(id))
  },
})
const organizations = called('organization', namesOf, (id) => id)
const people = called('person', usernamesOf, () => null)
const nameOf = async (id: string, by = fresh) => (await by.forRequest().read([want(organizations, id)])).values[0]
const rename = (id: string, name: string) => live.sql('update organizations set name = $2 where id = $1', [id, name])

describe('what is kept', () => {
  test('DE-19 is read once, and proved by one small read each time', async () => {
    expect([await nameOf(org.aurora), await nameOf(org.aurora), await nameOf(org.aurora)]).toEqual(Array(3).fill('Aurora Labs'))
    expect(loads).toEqual([[org.aurora]])
    // The first of them within the transaction that read the name.
    expect(counted.naming('epochs')).toBe(3)
  })

  test('DE-19 is read again after a change of its tenant or of the platform, and not after one of another tenant', async () => {
    await nameOf(org.aurora)
    await rename(org.borealis, 'Other')
    expect(await nameOf(org.aurora)).toBe('Aurora Labs')
    expect(loads).toHaveLength(1)
    await rename(org.aurora, 'Aurora')
    expect(await nameOf(org.aurora)).toBe('Aurora')
    expect(loads).toHaveLength(2)
    await live.sql(`update users set role = 'admin' where id = $1`, [user('axel')])
    expect(await nameOf(org.aurora)).toBe('Aurora')
    expect(loads).toHaveLength(3)
    await rename(org.aurora, 'Aurora Labs')
  })

  test('DE-19 does not hold that something is unknown, so that it may come without moving an epoch', async () => {
    const id = newId('user')
    const read = async () => (await fresh.forRequest().read([want(people, id)])).values[0]
    expect([await read(), await read()]).toEqual([undefined, undefined])
    expect(loads).toHaveLength(2)
    await live.sql(`insert into users (id, username, oidc_issuer, oidc_subject, created_at) values ($1, 'new', 'i', $2, now())`, [id, id])
    expect([await read(), await read()]).toEqual(['new', 'new'])
    expect(loads).toHaveLength(3)
  })

  test('DE-19 is not taken for what it was when an epoch comes to the same figure again', async () => {
    await nameOf(org.aurora)
    await live.sql(`update epochs set stamp = gen_random_uuid() where id = $1`, [org.aurora])
    await nameOf(org.aurora)
    expect(loads).toHaveLength(2)
  })

  test('DE-19 is bounded: the least recent goes first, and is read again', async () => {
    fresh = keepFresh(counted.database, { most_entries: 2, ...unhurried.fresh })
    await nameOf(org.aurora)
    await nameOf(org.borealis)
    await nameOf(org.aurora)
    await fresh.forRequest().read([want(people, user('anna'))])
    expect(loads).toEqual([[org.aurora], [org.borealis], [user('anna')]])
    await nameOf(org.aurora)
    expect(loads).toHaveLength(3)
    await nameOf(org.borealis)
    expect(loads).toHaveLength(4)
  })

  test('DE-19 more than fits is still answered whole', async () => {
    fresh = keepFresh(counted.database, { most_entries: 1, ...unhurried.fresh })
    const { values } = await fresh
      .forRequest()
      .read([want(organizations, org.aurora), want(organizations, org.borealis), want(people, user('anna'))])
    expect(values).toEqual(['Aurora Labs', 'Other', 'anna'])
  })
})

describe('one request', () => {
  test('DE-19 proves each scope once, and holds to that moment', async () => {
    const request = fresh.forRequest()
    const first = await request.read([want(people, user('anna')), want(organizations, org.aurora)])
    counted.forget()
    const again = await request.read([want(people, user('anna')), want(organizations, org.aurora)])
    expect(counted.naming('epochs')).toBe(0)
    expect(again.moment).toBe(first.moment)
    await request.read([want(organizations, org.borealis)])
    expect(counted.naming('epochs')).toBe(1)
  })

  test('DE-19 whose body comes later than the limit is proved anew: a change in between is seen', async () => {
    stopClock()
    fresh = keepFresh(counted.database)
    const request = fresh.forRequest()
    const wanted = [want(people, user('anna')), want(organizations, org.aurora)] as const
    expect((await request.read(wanted)).values).toEqual(['anna', 'Aurora Labs'])
    await rename(org.aurora, 'Aurora later')
    try {
      counted.forget()
      vi.advanceTimersByTime(999)
      expect((await request.read(wanted)).values).toEqual(['anna', 'Aurora Labs'])
      expect(counted.naming('epochs')).toBe(0)
      vi.advanceTimersByTime(1)
      expect((await request.read(wanted)).values).toEqual(['anna', 'Aurora later'])
      expect(counted.naming('epochs')).toBeGreaterThan(0)
    } finally {
      await rename(org.aurora, 'Aurora Labs')
    }
  })

  test('DE-19 a proof is never another request’s', async () => {
    await fresh.forRequest().read([want(organizations, org.aurora)])
    counted.forget()
    await Promise.all([fresh.forRequest(), fresh.forRequest()].map((request) => request.read([want(organizations, org.aurora)])))
    // Both asked at the same moment, after which one read began.
    expect(counted.naming('epochs')).toBe(1)
  })

  test('DE-19 who asks while a proof is under way waits for the next: a change in between is seen', async () => {
    const { promise: isHeld, resolve: release } = Promise.withResolvers<void>()
    const { promise: isProved, resolve: proved } = Promise.withResolvers<void>()
    let holding = false
    const slow: Database = {
      ...counted.database,
      reader: {
        ...counted.database.reader,
        one: async (statement) => {
          const row = await counted.database.reader.one(statement)
          if (holding) {
            proved()
            await isHeld
          }
          return row
        },
      },
    }
    fresh = keepFresh(slow, unhurried.fresh)
    const before = await nameOf(org.borealis)
    holding = true
    const early = nameOf(org.borealis)
    await isProved
    await rename(org.borealis, 'Changed')
    const late = nameOf(org.borealis)
    holding = false
    release()
    // Who asked before the change may be told either; who asked after it, only what it changed to.
    expect([await early, await late]).toEqual([before, 'Changed'])
    await rename(org.borealis, 'Other')
  })
})

describe('what is read together', () => {
  const ids = [org.aurora, org.borealis]
  const nameBoth = (name: string) => live.sql('update organizations set name = $2 where id = any($1::uuid[])', [ids, name])
  const torn = async (read: (by: Fresh) => Promise<readonly (string | undefined)[]>) => {
    const by = keepFresh(live.database, unhurried.fresh)
    let isOver = false
    let written = 0
    let different = 0
    // They begin with one name: what differed before anybody wrote would count as torn.
    await nameBoth('begin')
    /** Both get the same name in one transaction, again and again. */
    const write = async () => {
      for (; !isOver; written += 1) {
        await nameBoth(`n${written}`)
        if (written % 3 === 0) await sleep(2)
      }
    }
    // Some read one of them only, so that others find it kept and the other not.
    const single = async (id: string) => {
      while (!isOver) await nameOf(id, by)
    }
    // Read on until something was written: the writer may be the slower one.
    const both = async () => {
      for (let times = 0; times < 50 || written < 6; times += 1) {
        const [a, b] = await read(by)
        if (a !== b) different += 1
      }
    }
    const others = Promise.all([write(), ...ids.map(single)])
    await Promise.all([both(), both(), both()])
    isOver = true
    await others
    return different
  }

  test('DE-19 is true at one moment, whatever is written meanwhile', async () => {
    expect(await torn(async (by) => (await by.forRequest().read(ids.map((id) => want(organizations, id)))).values)).toBe(0)
  })

  test('reading one after the other would be found out', async () => {
    const oneAfterTheOther = async (by: Fresh) => {
      const first = await nameOf(ids[0]!, by)
      // Somebody writes in between, which chance would do only now and then.
      await nameBoth(`between ${crypto.randomUUID()}`)
      return [first, await nameOf(ids[1]!, by)]
    }
    expect(await torn(oneAfterTheOther)).toBeGreaterThan(0)
  })
})

describe('a database that does not answer', () => {
  const never = new Promise<never>(() => {})
  const unavailable = { code: 'dependency_unavailable' }

  test('DE-19 at the proof is 503 within the limit, also for what is kept', async () => {
    let isSilent = false
    const database: Database = {
      ...live.database,
      reader: { ...live.database.reader, one: (statement) => (isSilent ? never : live.database.reader.one(statement)) },
    }
    stopClock()
    fresh = keepFresh(database)
    await nameOf(org.aurora)
    isSilent = true
    const asking = nameOf(org.aurora)
    vi.advanceTimersByTime(1000)
    await expect(asking).rejects.toMatchObject(unavailable)
  })

  test('DE-19 at the reading is 503 within the limit', async () => {
    stopClock()
    fresh = keepFresh({ ...live.database, transaction: () => never })
    const asking = nameOf(org.aurora)
    vi.advanceTimersByTime(1000)
    await expect(asking).rejects.toMatchObject(unavailable)
  })

  test('DE-19 all reads of one request share the limit', async () => {
    stopClock()
    let takes = 0
    const one: Database['reader']['one'] = async (statement) => {
      const row = await live.database.reader.one(statement)
      vi.advanceTimersByTime(takes)
      // Who waits too long is told every 50 ms.
      await sleep(takes && 60)
      return row
    }
    fresh = keepFresh({ ...live.database, reader: { ...live.database.reader, one } })
    await nameOf(org.aurora)
    await nameOf(org.borealis)
    takes = 450
    const request = fresh.forRequest()
    const reading = async () => {
      // Each in a scope that the one before did not prove, and each well within the limit by itself.
      for (const id of [org.aurora, org.borealis, org.aurora, org.borealis]) await request.read([want(organizations, id)])
    }
    await expect(reading()).rejects.toMatchObject(unavailable)
  })

  test('DE-19 an error at the proof is nobody’s answer, and the next proof stands by itself', async () => {
    let fails = false
    const one: Database['reader']['one'] = (statement) => (fails ? Promise.reject(new Error('lost')) : live.database.reader.one(statement))
    fresh = keepFresh({ ...live.database, reader: { ...live.database.reader, one } }, unhurried.fresh)
    await nameOf(org.aurora)
    fails = true
    await expect(nameOf(org.aurora)).rejects.toThrow('lost')
    fails = false
    expect(await nameOf(org.aurora)).toBeTypeOf('string')
  })

  test('DE-19 a pool that is closed refuses', async () => {
    const database = openDatabase({ url: live.clone.appUrl, ...unhurried.database })
    fresh = keepFresh(database, unhurried.fresh)
    await nameOf(org.aurora)
    await database.close()
    await expect(nameOf(org.aurora)).rejects.toThrow()
  })
})

describe('an epoch that fell', () => {
  const shift = (by: number) => live.sql('update epochs set value = value + $2 where id = $1', [org.borealis, by])
  const borealis = () => nameOf(org.borealis).catch(({ code }: { code: string }) => code)

  test('DE-19 HA-01 read: the epoch of a tenant is lower than before → 503, not ready, a new pool, until it is there again', async () => {
    await rename(org.borealis, 'Borealis')
    const said: string[] = []
    const database: Database = { ...live.database, distrust: (why) => void said.push(why) }
    fresh = keepFresh(database, unhurried.fresh)
    expect(await borealis()).toBe('Borealis')
    expect(await fresh.isReady()).toBe(true)
    await shift(-1)
    expect(await borealis()).toBe('dependency_unavailable')
    // Of the tenants, that one is still asked about when readiness is.
    expect(await fresh.isReady()).toBe(false)
    expect(said.length).toBeGreaterThan(1)
    expect(said[0]).toMatch(/an epoch fell from \d+ to \d+/)
    expect(await nameOf(org.aurora)).toBeTypeOf('string')
    await shift(1)
    expect(await fresh.isReady()).toBe(true)
    expect(await borealis()).toBe('Borealis')
  })

  test('DE-19 read: a read that looked before another and ends after it → no fall', async () => {
    await nameOf(org.borealis)
    const { promise, resolve } = Promise.withResolvers<void>()
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    // Its snapshot is taken, and it waits before it says what it saw.
    const late: Database = {
      ...live.database,
      transaction: (mode, within) =>
        live.database.transaction(mode, (tx) =>
          within({
            ...tx,
            one: async (statement) => {
              const row = await tx.one(statement)
              reach()
              await promise
              return row
            },
          }),
        ),
    }
    fresh = keepFresh(late, unhurried.fresh)
    const slow = borealis()
    await reached
    await rename(org.borealis, 'Meanwhile')
    // A proof that overtakes it sees the new epoch.
    const kept = fresh.forRequest().read([want(organizations, org.aurora), want(organizations, org.borealis)])
    expect(await fresh.isReady()).toBe(true)
    resolve()
    expect(['Borealis', 'Meanwhile']).toContain(await slow)
    expect((await kept).values[1]).toBe('Meanwhile')
  })

  test('HA-01 distrust: a pool is left → the next read has another connection', async () => {
    const database = openDatabase({ url: live.clone.appUrl, max_connections: 1, ...unhurried.database })
    const pid = sql(Exactly({ pid: Type.Number() }))`select pg_backend_pid() as pid`
    const before = await database.reader.one(pid)
    database.distrust('a test')
    expect(await database.reader.one(pid)).not.toEqual(before)
    await database.close()
  })
})

describe('decisions', () => {
  const asking = { action: 'tenant.read', resource: { type: 'organization', id: org.aurora } }
  const decideAt = (url: string, person: string) => live.ask(person, decide, { body: asking, base: url })

  test('DE-19 a thousand that wait at one moment cost a handful of reads, and none of a fact that is kept', async () => {
    let waiting: Promise<void> | undefined
    const reader: Database['reader'] = {
      ...counted.database.reader,
      one: async (statement) => {
        await waiting
        return counted.database.reader.one(statement)
      },
    }
    fresh = keepFresh({ ...counted.database, reader }, { limit_ms: 600_000 })
    let arrived = 0
    const arriving: Fresh = {
      ...fresh,
      forRequest: () => {
        const request = fresh.forRequest()
        let isFirst = true
        return {
          ...request,
          read: (wanted) => {
            if (isFirst) arrived += 1
            isFirst = false
            return request.read(wanted)
          },
        }
      },
    }
    const { url } = await live.replica((parts) => ({ ...parts, fresh: arriving }))
    expect((await decideAt(url, 'anna')).body).toMatchObject({ decision: 'allow' })
    counted.forget()
    const { promise, resolve: release } = Promise.withResolvers<void>()
    waiting = promise
    const answers = Array.from({ length: 1000 }, () => decideAt(url, 'anna'))
    // All of them ask for a proof.
    await expect.poll(() => arrived).toBe(1001)
    release()
    const said = (await Promise.all(answers)).map(({ status, body }) => `${status} ${body.decision}`)
    expect([...new Set(said)]).toEqual(['200 allow'])
    // One for each would be a thousand.
    expect(counted.naming('epochs')).toBeLessThanOrEqual(100)
    expect(counted.naming('tenant_memberships')).toBe(0)
  })

  test('DE-19 a binding ends by the clock, without a change and without another read', async () => {
    const { url } = await live.replica((parts) => ({ ...parts, fresh: keepFresh(counted.database, unhurried.fresh) }))
    const decided = async () => (await decideAt(url, 'arne')).body.decision
    // As short as this machine is quick.
    for (let seconds = 1; ; seconds *= 2) {
      await live.sql(`update tenant_role_bindings set expires_at = now() + make_interval(secs => $2) where principal_id = $1`, [
        user('arne'),
        seconds,
      ])
      if ((await decided()) === 'allow' || seconds > 60) break
    }
    counted.forget()
    await expect.poll(decided).toBe('deny')
    expect(await live.sql('select from tenant_role_bindings where principal_id = $1 and expires_at > now()', [user('arne')])).toEqual([])
    expect((await decideAt(url, 'arne')).body).toMatchObject({ decision: 'deny', reason_code: 'permission_denied' })
    expect(counted.naming('tenant_role_bindings')).toBe(0)
  })
})
