import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { accessPlace } from '../replicas/access/place.ts'
import { playBatch } from '../replicas/access/schedule.ts'
import { amount, isWhole, seededNumber } from '../sweep.ts'

describe('who may enter changes all the time, on three servers, while two nodes hear of it late, twice or not at all', () => {
  let clone: ClonedDatabase
  let world: FaultWorld
  beforeAll(async () => {
    clone = await cloneDatabase()
    world = await faultWorld(clone, { people: 0 })
  })
  afterAll(async () => {
    await world.stop()
    await clone.drop()
  })

  test('SG-10 SG-07 SG-11 S13 S6 random schedules: each node ends with exactly what it must have, and nothing that had gone came back', async () => {
    const place = await accessPlace(world, {}, isWhole ? 1 : seededNumber('schedules'))
    try {
      for (let batch = 0; batch < amount(2, 20); batch += 1) expect(await playBatch(place, 10)).toEqual([])
      expect(await world.chainFaults()).toEqual([])
      if (!isWhole) return
      // They did something: sets were applied, and access ended in every way.
      expect(place.history.length).toBeGreaterThan(400)
      const ends = await world.sql<{ end_cause: string }>('select distinct end_cause from allocation_access_grants')
      expect(ends.map(({ end_cause }) => end_cause)).toEqual(
        expect.arrayContaining(['revoked', 'project_membership_ended', 'key_deleted', 'allocation_released']),
      )
    } finally {
      await place.stop()
    }
  }, 900_000)

  const controls = [
    ['a build that forgets grants when the owner’s keys are replaced', { build: 'forgets_grants' }],
    ['a node that applies whatever comes', { orderOf: () => 'apply' as const }],
    ['a build that queues what nodes are to do after the transaction', { build: 'queues_apart' }],
  ] as const
  // They belong to `npm run test:all`.
  test.each(isWhole ? [...controls] : [])(
    'S13 %s is found out',
    async (_what, broken) => {
      const place = await accessPlace(world, broken, 2)
      try {
        const found: string[] = []
        // The sound build has to last four times as long as each of these.
        for (let batch = 1; batch <= 5 && found.length === 0; batch += 1) found.push(...(await playBatch(place, 10)))
        // Found when all was done, and not because a node was late.
        expect(found).not.toEqual([])
        expect(found.filter((fault) => fault.endsWith('still open'))).toEqual([])
      } finally {
        await place.stop()
      }
    },
    300_000,
  )
})
