import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Intent } from '../faults/journal.ts'
import { judgeIntent, judgeSettled, judgeWorld } from '../faults/judge.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { smallDisk } from '../faults/small-disk.ts'
import { faultWorld } from '../faults/world.ts'
import { asSuperuser } from '../superuser.ts'

const disk = smallDisk(180)
// Who may not mount a disk gets a database that says the same words.
const how = disk ? 'a disk that is full' : 'a database that says its disk is full (this process may not mount a small one)'

/** Segments of the log that are there already: a full disk then stops what needs a new page, and not the database as a whole. */
const roomyLog = { min_wal_size: '64MB', max_wal_size: '80MB', autovacuum: 'off', wal_init_zero: 'on' }

test(`AU-01 ${how}: changes are 503, nothing is half done, and it goes on without a restart when there is room again`, async () => {
  const postgres = await ownPostgres({ ...(disk ? { folder: disk.folder } : {}), settings: roomyLog })
  const world = await faultWorld(postgres)
  const admin = (text: string) =>
    asSuperuser(Object.assign(new URL(postgres.superuserUrl), { pathname: '/gatehouse' }).href, (client) => client.query(text))
  const fill = async () => {
    if (!disk)
      return void (await admin(`create function no_room() returns trigger language plpgsql as $$ begin
        raise exception using errcode = '53100', message = 'could not extend file: No space left on device'; end $$;
        create trigger no_room before insert on audit_logs for each row execute function no_room()`))
    for (let segment = 0; segment < 4; segment += 1) {
      await admin('select pg_switch_wal()')
      await admin('checkpoint')
    }
    disk.fill()
  }
  const free = async () => void (disk ? disk.free() : await admin('drop trigger no_room on audit_logs'))

  try {
    const server = await world.start()
    const intents: Intent[] = []
    const create = async () => {
      const intent = world.intend('organization.create', await world.prepare('organization.create', world.stageOn(server.url)))
      intents.push(intent)
      return (await world.ask(server.url, intent))?.status
    }
    expect(await create()).toBe(201)
    await fill()
    const seen: (number | undefined)[] = []
    // Pages that are there already are still written; sooner or later one is missing.
    while (seen.filter((status) => status === 503).length < 20 && seen.length < 3000) seen.push(await create())
    expect([...new Set(seen)].filter((status) => status !== 201)).toEqual([503])
    for (const intent of intents.slice(-25)) expect((await judgeIntent(world.sql, world.journal.of(intent))).faults).toEqual([])
    // Who only reads is still answered.
    const read = world.intend('me.read', { person: 'anna', params: {}, body: {} })
    expect([200, 503]).toContain((await world.ask(server.url, read))?.status)

    await free()
    const freed = performance.now()
    while ((await create()) !== 201 && performance.now() - freed < 60_000) await sleep(50)
    expect(performance.now() - freed).toBeLessThan(60_000)
    expect(server.isAlive()).toBe(true)
    for (const intent of intents.slice(-40)) {
      await world.ask(server.url, intent)
      expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
    }
    expect(await judgeWorld(world, world.journal.read())).toEqual([])
  } finally {
    await world.stop()
    await postgres.stop()
    disk?.remove()
  }
})
