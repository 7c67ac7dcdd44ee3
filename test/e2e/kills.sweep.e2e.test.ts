import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Build } from '../faults/builds.ts'
import { judgeSettled, judgeWorld } from '../faults/judge.ts'
import { type Case, countStatements, fewPoints, runKills } from '../faults/kills.ts'
import { isKeyed, operationOf, recipes } from '../faults/recipes.ts'
import type { ServerProcess } from '../faults/server-process.ts'
import { barrier, nameOf, type Point } from '../faults/statement-faults.ts'
import { apartHash, tablesNotJudged } from '../faults/unjudged.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { isWhole, sweep } from '../sweep.ts'

let clone: ClonedDatabase
let world: FaultWorld
let calm: ServerProcess
const enter = async () => {
  clone = await cloneDatabase()
  world = await faultWorld(clone)
  calm = await world.start()
}
const leave = async () => {
  await world.stop()
  await clone.drop()
}

describe('killed at once, and started again', () => {
  beforeAll(enter)
  afterAll(leave)

  test('every table is judged, or it is said why not', async () => {
    await world.prepare('organization.resume', world.stageOn(calm.url))
    expect(await tablesNotJudged(world)).toEqual([])
    await world.sql('create table later_things (id uuid primary key)')
    expect(await tablesNotJudged(world)).toEqual(['nobody judges later_things'])
    await world.sql('drop table later_things')
  })

  test('AU-01 a change and its record are both there or neither, wherever the process was killed', { timeout: 600_000 }, async () => {
    const apart = await apartHash(world.sql)
    const cases: Case[] = []
    const operations = sweep('killed operations', Object.keys(recipes), 6)
    for (const [turn, operation] of operations.entries())
      cases.push(...fewPoints(await countStatements(world, calm, operation), turn).map((point) => ({ operation, point })))
    // Two at a time: a tenant has few connections, and those that wait at their point hold them.
    const tally = await runKills(world, cases, { calm, together: 2 })
    expect(tally.faults).toEqual([])
    // What the judges leave out because nothing writes it was in fact not written.
    expect(await apartHash(world.sql)).toBe(apart)
    expect(tally.interrupted).toBe(cases.length)
    // Both outcomes were met, or the points were not where they should be.
    expect(tally.present).toBeGreaterThanOrEqual(operations.length)
    expect(tally.absent).toBeGreaterThanOrEqual(operations.length)
  })
})

describe('asked twice at the same moment, of two servers', () => {
  beforeAll(enter)
  afterAll(leave)

  test('AU-01 a change is made once, and both get its answer', async () => {
    let meet = barrier(2)
    // The first statement takes the key.
    const reached = (point: Point) => (nameOf(point) === 'before statement 1' ? meet() : undefined)
    const urls = [await world.startHere(reached), await world.startHere(reached)]
    for (const operation of sweep('asked twice', Object.keys(recipes).filter(isKeyed), 6)) {
      const asking = await world.prepare(operation, world.stageOn(calm.url))
      const intent = world.intend(operation, asking)
      meet = barrier(2)
      await Promise.all(urls.map((url) => world.ask(url, intent)))
      const { success, is_secret_reply } = operationOf(operation)
      const statuses = world.journal.of(intent).attempts.map(({ answer }) => answer?.status ?? 0)
      // A secret is given to one of them; the other is told that it was.
      expect(statuses.sort()).toEqual([success, is_secret_reply ? 409 : success])
      expect(await judgeSettled(world.sql, world.journal.of(intent))).toEqual([])
    }
    expect(await judgeWorld(world, world.journal.read())).toEqual([])
  })
})

// It belongs to `npm run test:all`.
if (isWhole)
  describe('the judge says red', () => {
    beforeAll(enter)
    afterAll(leave)

    const mistakes: readonly [string, Build, Case, RegExp][] = [
      [
        'where the record is written after the transaction',
        'records_after',
        { operation: 'organization.update', point: { at: 'after_commit' } },
        /in part.*name 1, row organization\.update 0|there, but not recorded|is called/,
      ],
      [
        'where the record is written in another transaction',
        'records_apart',
        { operation: 'organization.update', point: { at: 'before_commit' } },
        /in part.*name 0, row organization\.update 1/,
      ],
      [
        'where the answer leaves before the commit',
        'answers_early',
        { operation: 'project.archive', point: { at: 'before_commit' } },
        /answered well, and gone/,
      ],
      [
        'where no idempotency key is kept',
        'keeps_no_key',
        { operation: 'organization.update', point: { at: 'after_commit' } },
        /in part or more than once/,
      ],
      [
        'where no idempotency key is kept, of a change that cannot be made twice',
        'keeps_no_key',
        { operation: 'user.disable', point: { at: 'after_commit' } },
        /asked again with the same key, and answered 409/,
      ],
    ]
    test.for(mistakes)('%s', async ([, build, one, expected]) => {
      const { faults, kills } = await runKills(world, [one], { calm, build, lanes: 1 })
      expect(kills).toBe(1)
      expect(faults.join('\n')).toMatch(expected)
    })
  })
