import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { Exactly } from '@gatehouse/contract/shapes'
import fc from 'fast-check'
import Type from 'typebox'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { barrier } from '../../../../test/faults/statement-faults.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { Problem } from '../kernel/problem.ts'
import { type DatabaseOptions, usualDeadlines } from './connections.ts'
import { type Database, openDatabase, type Tx } from './database.ts'
import { guardPrimary } from './primary-guard.ts'
import { sql } from './statement.ts'

const Nothing = Exactly({})
const Count = Exactly({ n: Type.Integer() })
const Pid = Exactly({ pid: Type.Integer() })

const clone = databaseFixture(async (clone) => {
  await owner('create table tried (name text primary key, n integer not null default 0)')
  await owner(
    `create table places (slug text constraint state_conflict unique, size integer constraint no_problem_of_ours check (size > 0))`,
  )
  await owner(`do $$ begin execute 'grant all on tried, places to ' || quote_ident('${new URL(clone.appUrl).username}'); end $$`)
})
beforeEach(() => owner('truncate tried, places'))

const open: Database[] = []
const connect = (options: Partial<DatabaseOptions> = {}): Database => {
  const database = openDatabase({ url: clone.appUrl, ...unhurried.database, ...options })
  open.push(database)
  return database
}
afterEach(async () => {
  for (const database of open.splice(0)) await database.close()
})

const owner = <Row>(text: string): Promise<Row[]> => asSuperuser(clone.ownerUrl, async (client) => (await client.query(text)).rows as Row[])
const put = (name: string) => sql(Nothing)`insert into tried (name) values (${name})`
const read = (name: string) => sql(Count)`select n from tried where name = ${name}`
const bump = (name: string) => sql(Count)`update tried set n = n + 1 where name = ${name} returning n`
const set = (name: string, n: number) => sql(Nothing)`update tried set n = ${n} where name = ${name}`
const pid = () => sql(Pid)`select pg_backend_pid() as pid`
const sleep = (seconds: number) => sql(Exactly({ pg_sleep: Type.String() }))`select pg_sleep(${seconds})::text as pg_sleep`
/** The product writes in read committed, where only deadlocks happen; a stricter level shows that the other loss is retried too. */
const beginStricter = async (tx: Tx) => {
  await tx.many(sql(Nothing)`commit`)
  await tx.many(sql(Nothing)`begin isolation level serializable`)
}
// Only a superuser ends a connection of another role.
const terminate = (number: number) =>
  asSuperuser(inject('postgres').superuserUrl, (client) => client.query('select pg_terminate_backend($1)', [number]))

const problemOf = async (answer: Promise<unknown>): Promise<string> => {
  try {
    await answer
  } catch (error) {
    return error instanceof Problem ? `${error.status} ${error.code}` : String(error)
  }
  return 'no problem'
}

describe('a server that is no longer the primary', () => {
  /** As another pool of the process sees it after a promotion. */
  const later = { is_in_recovery: false, timeline: 1_000_000 }
  const refused = '503 dependency_unavailable'

  test('HA-01 transaction: another pool has seen a later timeline → 503 before anything is asked', async () => {
    const primary = guardPrimary()
    const database = connect({ primary })
    primary.require(later)
    let isAsked = false
    const working = database.transaction('read', async () => {
      isAsked = true
    })
    expect(await problemOf(working)).toBe(refused)
    expect(isAsked).toBe(false)
    expect(await problemOf(database.reader.many(read('any')))).toBe(refused)
  })

  test('HA-01 transaction: another pool sees a later timeline while it works → 503, and nothing is committed', async () => {
    const primary = guardPrimary()
    const database = connect({ primary })
    const working = database.transaction('write', async (tx) => {
      await tx.many(put('too late'))
      primary.require(later)
    })
    expect(await problemOf(working)).toBe(refused)
    expect(await owner('select from tried')).toEqual([])
  })
})

describe('a transaction', () => {
  test('keeps all or nothing, and what was thrown is what comes out', async () => {
    const database = connect()
    await database.transaction('write', (tx) => tx.many(put('kept')))
    const mine = new Error('mine')
    await expect(
      database.transaction('write', async (tx) => {
        await tx.many(put('lost'))
        throw mine
      }),
    ).rejects.toBe(mine)
    expect(await owner('select name from tried')).toEqual([{ name: 'kept' }])
  })

  test('is one transaction on one connection, with the one instant of the database', async () => {
    const Seen = Exactly({ pid: Type.Integer(), xid: Type.String(), now: Type.String() })
    const look = () => sql(Seen)`select pg_backend_pid() as pid, pg_current_xact_id()::text as xid, transaction_timestamp() as now`
    const [first, second, now] = await connect().transaction('write', async (tx) => {
      const before = await tx.one(look())
      await tx.one(sleep(0.02))
      return [before, await tx.one(look()), tx.now] as const
    })
    expect(second).toEqual(first)
    expect(now).toBe(first.now)
    expect(now).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    // One more call is one more transaction.
    expect((await connect().transaction('write', (tx) => tx.one(look()))).xid).not.toBe(first.xid)
  })

  test('that reads cannot write, and sees one snapshot', async () => {
    const database = connect()
    await database.transaction('write', (tx) => tx.many(put('a')))
    await database.transaction('read', async (tx) => {
      const before = await tx.one(read('a'))
      await owner(`update tried set n = 5`)
      expect(await tx.one(read('a'))).toEqual(before)
    })
    expect(await problemOf(database.transaction('read', (tx) => tx.many(put('b'))))).toBe('503 dependency_unavailable')
    expect(await owner('select name from tried')).toEqual([{ name: 'a' }])
  })

  test('leaves its connection clean for the next, after a throw too', async () => {
    const database = connect({ max_connections: 1 })
    const first = await database.transaction('write', (tx) => tx.one(pid()))
    await database.transaction('write', (tx) => tx.many(sql(Nothing)`select from no_such_table`)).catch(() => {})
    await database.transaction('write', () => Promise.reject(new Error('mine'))).catch(() => {})
    expect(await database.transaction('write', (tx) => tx.one(pid()))).toEqual(first)
    expect(await database.reader.one(pid())).toEqual(first)
  })

  test('whose caller wants one row gets one, or it is a bug', async () => {
    const { reader } = connect()
    const rows = (n: number) => sql(Count)`select generate_series(1, ${n}::int) as n`
    expect(await reader.one(rows(1))).toEqual({ n: 1 })
    expect(await reader.maybe(rows(0))).toBeUndefined()
    expect(await reader.many(rows(2))).toHaveLength(2)
    await expect(reader.one(rows(0))).rejects.toThrow('expected one row, got 0')
    await expect(reader.one(rows(2))).rejects.toThrow('expected one row, got 2')
    await expect(reader.maybe(rows(2))).rejects.toThrow('expected one row at most, got 2')
  })
})

describe('what nobody waits for', () => {
  test('goes out with the commit in its order, or before whatever is asked after it', async () => {
    const database = connect()
    const seen = await database.transaction('write', async (tx) => {
      tx.last(put('x'))
      tx.last(set('x', 5))
      const { n } = await tx.one(read('x'))
      tx.last(set('x', n + 1))
      return n
    })
    expect(seen).toBe(5)
    expect(await database.reader.one(read('x'))).toEqual({ n: 6 })
  })

  test('fails with its own meaning, nothing of its transaction stays, and the connection serves on', async () => {
    const database = connect({ max_connections: 1 })
    const failing = database.transaction('write', async (tx) => {
      await tx.many(put('x'))
      tx.last(put('y'))
      tx.last(put('y'), (error) => new Problem('project_not_found', undefined, error))
      tx.last(put('z'))
    })
    expect(await problemOf(failing)).toBe('404 project_not_found')
    expect(await owner('select * from tried')).toEqual([])
    await database.transaction('write', async (tx) => tx.last(put('x')))
    expect(await database.reader.one(read('x'))).toEqual({ n: 0 })
  })

  test('is tried again with its transaction where it loses a race', async () => {
    const database = connect()
    await owner(`insert into tried values ('x', 0)`)
    const bumps = await Promise.all(
      Array.from({ length: 4 }, () =>
        database.transaction('write', async (tx) => {
          await beginStricter(tx)
          const { n } = await tx.one(read('x'))
          tx.last(set('x', n + 1))
          return n
        }),
      ),
    )
    expect(bumps.sort()).toEqual([0, 1, 2, 3])
    expect(await database.reader.one(read('x'))).toEqual({ n: 4 })
  })
})

describe('what is sent ahead', () => {
  test('is done once, before anything else, and its answer is had where it is asked for', async () => {
    const database = connect()
    const [first, second] = [put('x'), bump('x')]
    const seen = await database.transaction('write', async (tx) => [await tx.one(read('x')), await tx.many(first), await tx.one(second)], {
      ahead: [first, second],
    })
    expect(seen).toEqual([{ n: 1 }, [], { n: 1 }])
    // Asked a second time it is done a second time.
    expect(await database.transaction('write', async (tx) => [await tx.one(second), await tx.one(second)], { ahead: [second] })).toEqual([
      { n: 2 },
      { n: 3 },
    ])
  })

  test('fails where it is asked for, or with the commit that it makes void', async () => {
    const database = connect({ max_connections: 1 })
    const twice = put('x')
    const ahead = [twice, put('x')]
    expect(await problemOf(database.transaction('write', (tx) => tx.many(ahead[1]!), { ahead }))).toContain('duplicate key')
    expect(await problemOf(database.transaction('write', async () => {}, { ahead }))).toContain('rolled back')
    expect(await owner('select * from tried')).toEqual([])
    expect(await database.ping()).toBe(true)
  })
})

test('a transaction whose failure somebody hid is no success', async () => {
  const database = connect()
  const hiding = database.transaction('write', async (tx) => {
    await tx.many(put('x'))
    await tx.many(put('x')).catch(() => {})
  })
  expect(await problemOf(hiding)).toContain('rolled back')
  expect(await owner('select * from tried')).toEqual([])
})

describe('a lost race', () => {
  test('a serialisation failure is tried again until it is a success, and no update is lost', async () => {
    const database = connect()
    await database.transaction('write', (tx) => tx.many(put('counter')))
    let runs = 0
    const together = barrier(2)
    const addOne = async (tx: Tx) => {
      runs += 1
      await beginStricter(tx)
      const { n } = await tx.one(read('counter'))
      if (runs <= 2) await together()
      await tx.many(set('counter', n + 1))
    }
    await Promise.all([database.transaction('write', addOne), database.transaction('write', addOne)])
    expect(runs).toBeGreaterThanOrEqual(3)
    expect(await owner('select n from tried')).toEqual([{ n: 2 }])
  })

  test('a deadlock is tried again', async () => {
    const database = connect()
    await database.transaction('write', async (tx) => {
      await tx.many(put('left'))
      await tx.many(put('right'))
    })
    let runs = 0
    const together = barrier(2)
    const both = (first: string, second: string) => async (tx: Tx) => {
      runs += 1
      await tx.one(bump(first))
      if (runs <= 2) await together()
      await tx.one(bump(second))
    }
    await Promise.all([database.transaction('write', both('left', 'right')), database.transaction('write', both('right', 'left'))])
    expect(runs).toBeGreaterThanOrEqual(3)
    expect(await owner('select n from tried')).toEqual([{ n: 2 }, { n: 2 }])
  })

  test('one that is lost every time is 503, after a few tries and no more', async () => {
    let runs = 0
    const lose = async (tx: Tx) => {
      runs += 1
      await tx.many(sql(Nothing)`do $$ begin raise exception using errcode = '40001'; end $$`)
    }
    expect(await problemOf(connect().transaction('write', lose))).toBe('503 dependency_unavailable')
    expect(runs).toBe(4)
  })

  test('an error of the verb is not tried again, even if it looks like the database', async () => {
    let runs = 0
    const mine = Object.assign(new Error('terminated'), { code: '40001' })
    const verb = async () => {
      runs += 1
      throw mine
    }
    await expect(connect().transaction('write', verb)).rejects.toBe(mine)
    expect(runs).toBe(1)
  })
})

describe('what the database says', () => {
  const place = (slug: string, size: number) => sql(Nothing)`insert into places values (${slug}, ${size})`

  test('a constraint that is named after a problem is that problem, and the cause is kept for the log', async () => {
    const database = connect()
    await database.transaction('write', (tx) => tx.many(place('a', 1)))
    const again = database.transaction('write', (tx) => tx.many(place('a', 1)))
    await expect(again).rejects.toMatchObject({
      code: 'state_conflict',
      status: 409,
      cause: { constraint: 'state_conflict' },
    })
    expect(await problemOf(database.reader.many(place('a', 1)))).toBe('409 state_conflict')
  })

  test('the rule that a role must fit is a problem too', async () => {
    const text = sql(Nothing)`do $$ begin raise exception using errcode = '23514', constraint = 'role_not_assignable'; end $$`
    expect(await problemOf(connect().transaction('write', (tx) => tx.many(text)))).toBe('409 role_not_assignable')
  })

  test('any other constraint, and any other mistake of ours, stays what it is', async () => {
    const database = connect()
    expect(await problemOf(database.transaction('write', (tx) => tx.many(place('b', 0))))).toContain('no_problem_of_ours')
    expect(await problemOf(database.reader.many(sql(Nothing)`select from no_such_table`))).toContain('does not exist')
  })

  test('a statement over its limit is 503, and the connection serves on', async () => {
    const database = connect({ max_connections: 1, statement_timeout_ms: 100 })
    expect(await problemOf(database.transaction('write', (tx) => tx.one(sleep(50))))).toBe('503 dependency_unavailable')
    expect(await problemOf(database.reader.one(sleep(50)))).toBe('503 dependency_unavailable')
    await expect.poll(() => database.ping()).toBe(true)
  })

  test('a connection lost in a transaction is 503, nothing of it stays, and the next one works', async () => {
    const database = connect({ max_connections: 1 })
    const lost = database.transaction('write', async (tx) => {
      await tx.many(put('lost'))
      await terminate((await tx.one(pid())).pid)
      await tx.many(put('more'))
    })
    expect(await problemOf(lost)).toBe('503 dependency_unavailable')
    expect(await owner('select name from tried')).toEqual([])
    await database.transaction('write', (tx) => tx.many(put('kept')))
    expect(await owner('select name from tried')).toEqual([{ name: 'kept' }])
  })

  test('a connection lost in the middle of a statement is 503', async () => {
    const database = connect({ max_connections: 1 })
    const lost = database.transaction('write', async (tx) => {
      const { pid: number } = await tx.one(pid())
      setTimeout(() => void terminate(number), 50)
      await tx.one(sleep(50))
    })
    expect(await problemOf(lost)).toBe('503 dependency_unavailable')
  })

  test('an idle connection that is lost is told once and replaced', async () => {
    const errors: string[] = []
    const database = connect({ max_connections: 1, onError: ({ message }) => errors.push(message) })
    const { pid: number } = await database.reader.one(pid())
    await terminate(number)
    await expect.poll(() => errors.length).toBe(1)
    expect((await database.reader.one(pid())).pid).not.toBe(number)
  })
})

describe('a database that is not there', () => {
  const listening: Server[] = []
  const sockets = new Set<Socket>()
  afterEach(() => {
    for (const socket of sockets) socket.destroy()
    for (const server of listening.splice(0)) server.close()
  })
  /** A port where something listens and does with each caller what it is told to. */
  const port = async (greet: (socket: Socket) => void): Promise<number> => {
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}))
      greet(socket)
    })
    listening.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as { port: number }).port
  }
  const at = (number: number, options: Partial<DatabaseOptions> = {}) =>
    connect({ url: `postgres://app:secret@127.0.0.1:${number}/gatehouse`, ...options })

  const message = (kind: string, body: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(body.length + 4)
    return Buffer.concat([Buffer.from(kind), length, body])
  }
  const welcome = message('R', Buffer.alloc(4))
  const ready = message('Z', Buffer.from('I'))
  /** A row of texts, as a primary says that it is one. */
  const primaryState = (() => {
    const int = (bytes: 2 | 4, value: number) => {
      const made = Buffer.alloc(bytes)
      made.writeIntBE(value, 0, bytes)
      return made
    }
    const columns: [name: string, type: number, value: string][] = [
      ['is_in_recovery', 16, 'f'],
      ['timeline', 23, '1'],
    ]
    const described = columns.map(([name, type]) =>
      Buffer.concat([Buffer.from(`${name}\0`), int(4, 0), int(2, 0), int(4, type), int(2, -1), int(4, -1), int(2, 0)]),
    )
    const told = columns.map(([, , value]) => Buffer.concat([int(4, value.length), Buffer.from(value)]))
    return Buffer.concat([
      message('T', Buffer.concat([int(2, columns.length), ...described])),
      message('D', Buffer.concat([int(2, columns.length), ...told])),
      message('C', Buffer.from('SELECT 1\0')),
      ready,
    ])
  })()
  const farewell = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'))

  test('a closed port is 503', async () => {
    const number = await port(() => {})
    await new Promise((resolve) => listening.pop()!.close(resolve))
    expect(await problemOf(at(number).reader.one(pid()))).toBe('503 dependency_unavailable')
    expect(await problemOf(at(number).transaction('write', (tx) => tx.one(pid())))).toBe('503 dependency_unavailable')
    expect(await at(number).ping()).toBe(false)
  })

  test('one that hangs up is 503', async () => {
    const number = await port((socket) => socket.destroy())
    expect(await problemOf(at(number).transaction('write', (tx) => tx.one(pid())))).toBe('503 dependency_unavailable')
  })

  test('one that accepts and never answers is 503 within seconds', async () => {
    const number = await port(() => {})
    const database = at(number, { round_trip_ms: 200 })
    expect(await problemOf(database.transaction('write', (tx) => tx.one(pid())))).toBe('503 dependency_unavailable')
    expect(usualDeadlines).toEqual({ statement_timeout_ms: 5000, round_trip_ms: 2000 })
  })

  test('HO-07 one that says farewell in the breath in which it is ready is heard, and 503', async () => {
    const errors: string[] = []
    const number = await port((socket) => socket.once('data', () => socket.end(Buffer.concat([welcome, ready, farewell]))))
    const database = at(number, { onError: (error) => errors.push(error.message) })
    expect(await problemOf(database.transaction('write', (tx) => tx.one(pid())))).toBe('503 dependency_unavailable')
    expect(errors).toContain('terminating connection')
  })

  test('HO-07 one that says farewell behind an answer is heard by whoever waited for the connection, and 503', async () => {
    const errors: string[] = []
    const answers = [primaryState, ready]
    const number = await port((socket) =>
      socket.once('data', () => {
        // The first is answered, and whoever comes on another line is not.
        socket.once('data', () => socket.end(Buffer.concat([...answers.splice(0), farewell])))
        socket.write(Buffer.concat([welcome, ready]))
      }),
    )
    const database = at(number, { max_connections: 1, onError: (error) => errors.push(error.message) })
    const [answered, waited] = [database.reader.many(pid()), database.transaction('write', (tx) => tx.one(pid()))]
    expect(await answered).toEqual([])
    expect(await problemOf(waited)).toBe('503 dependency_unavailable')
    expect(errors).toContain('terminating connection')
  })

  test('where one line stays silent its neighbours are left with it, and the next who asks gets a new one', async () => {
    const mute = new Set<Socket>()
    const number = await port((socket) => {
      const greeted = once(socket, 'data').then(() => socket.write(Buffer.concat([welcome, ready])))
      void greeted.then(() => socket.on('data', () => mute.has(socket) || socket.write(Buffer.concat([primaryState, ready]))))
    })
    const database = at(number, { round_trip_ms: 300 })
    const ask = () => problemOf(database.reader.many(pid()))
    // A busy machine may take one for silent before it is.
    await expect.poll(async () => [await Promise.all([ask(), ask()]), database.stats().idle]).toEqual([['no problem', 'no problem'], 2])
    for (const socket of sockets) mute.add(socket)
    expect(await ask()).toBe('503 dependency_unavailable')
    expect(database.stats().idle).toBe(0)
    await expect.poll(ask).toBe('no problem')
  })

  test('a pool whose connections are all taken is 503 within seconds', async () => {
    const database = connect({ max_connections: 1, round_trip_ms: 200 })
    const [taken, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const take = async (): Promise<unknown> =>
      problemOf(
        database.transaction('write', () => {
          taken.resolve()
          return end.promise
        }),
      ).then((said) => said === 'no problem' || take())
    const holding = take()
    await taken.promise
    expect(await problemOf(database.transaction('write', (tx) => tx.one(pid())))).toBe('503 dependency_unavailable')
    end.resolve()
    await holding
  })
})

test('statements are prepared once per connection, under their own names', async () => {
  const database = connect({ max_connections: 1 })
  const Prepared = Exactly({ name: Type.String(), statement: Type.String(), used: Type.Integer() })
  for (const name of ['a', 'b', 'c']) await database.transaction('write', (tx) => tx.many(read(name)))
  const prepared = await database.reader.many(
    sql(Prepared)`select name, statement, (generic_plans + custom_plans)::int as used from pg_prepared_statements`,
  )
  const { name, text } = read('a')
  expect(prepared.filter((each) => each.name === name)).toEqual([{ name, statement: text, used: 3 }])
})

test('numbers of eight bytes and instants come as the product spells them', async () => {
  const Seen = Exactly({ big: Type.Integer(), at: Type.String(), none: Type.Null() })
  const text = sql(Seen)`select 9007199254740991::int8 as big, '2026-01-02 03:04:05.678+02'::timestamptz as at, null::timestamptz as none`
  expect(await connect().reader.one(text)).toEqual({ big: 9007199254740991, at: '2026-01-02T01:04:05.678Z', none: null })
})

test('an array comes back as it was sent, whatever stands in it', async () => {
  const database = connect()
  const words = fc.array(
    fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'NULL', 'null', '"', '\\', '{}', ',', '\\"', ' '), fc.constant(null)),
  )
  const bytes = fc.uint8Array().map((each) => Buffer.from(each))
  const given = fc.record({
    words: words.map((each) => each.map((word) => word?.replaceAll('\0', '') ?? null)),
    numbers: fc.array(fc.option(fc.integer())),
    bytes: fc.array(fc.option(bytes)),
  })
  const Given = Exactly({ words: Type.Any(), numbers: Type.Any(), bytes: Type.Any() })
  await fc.assert(
    fc.asyncProperty(given, async ({ words, numbers, bytes }) => {
      expect(
        await database.reader.one(
          sql(Given)`select ${words}::text[] as words, ${numbers}::integer[] as numbers, ${bytes}::bytea[] as bytes`,
        ),
      ).toEqual({ words, numbers, bytes })
    }),
  )
})
