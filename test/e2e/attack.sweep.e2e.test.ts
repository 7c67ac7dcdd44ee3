import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Build } from '../faults/builds.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { faultsOf, playAttacks } from '../replicas/attack/rounds.ts'
import { amount, isWhole, seededNumber } from '../sweep.ts'

describe('fifty lanes with the token and the secret of a machine, on three processes, while something is done against it (T9)', () => {
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
  const servers = async (build: Build) => {
    const started = await Promise.all([1, 2, 3].map(() => world.start({ build })))
    return { all: started.map(({ url }) => url), stop: () => Promise.all(started.map(({ kill }) => kill())) }
  }

  // The control belongs to `npm run test:all`.
  if (isWhole)
    test('a build that believes for a second whom a token speaks for is found out', async () => {
      const { all, stop } = await servers('caches_identities_for_1_s')
      const rounds = await playAttacks(world, all, 5, ({ faults }) => faults.length > 0)
      await stop()
      expect(faultsOf(rounds).filter((fault) => fault.includes('use answered 200'))).not.toEqual([])
    })

  test('TI-16 nothing that begins after a revoke was answered gets anything by it, nor a new token, key or role; it is recorded once', async () => {
    const { all, stop } = await servers('sound')
    const wanted = amount(4, 11)
    const rounds = await playAttacks(world, all, wanted, undefined, isWhole ? 0 : seededNumber('first act') % 11)
    await stop()
    expect(new Set(rounds.map(({ kind }) => kind)).size).toBe(wanted)
    expect(faultsOf(rounds)).toEqual([])
    // Every lane was there before, and came back after.
    expect(Math.min(...rounds.map(({ before, after }) => Math.min(before, after)))).toBeGreaterThanOrEqual(100)
  })
})
