import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { expectBatch } from './compare.ts'
import { exhaustiveBatches } from './exhaustive.ts'
import type { Asked } from './judge-apart.ts'
import { type Mutant, mutants, occurrences, workshop } from './mutants.ts'
import { openLane } from './run.ts'
import { type Builtins, batchOf, type WorldBatch } from './worlds.ts'

let folder: string
let asked: string
const clones: ClonedDatabase[] = []

// The worlds and what is expected of them are the same for all: only the product under judgement changes.
const layOut = async (batchFor: (builtins: Builtins) => WorldBatch): Promise<Asked> => {
  const clone = await cloneDatabase()
  clones.push(clone)
  const superuserUrl = Object.assign(new URL(inject('postgres').superuserUrl), { pathname: new URL(clone.appUrl).pathname }).href
  const lane = await openLane({ appUrl: clone.appUrl, superuserUrl })
  try {
    return { appUrl: clone.appUrl, ...(await expectBatch(lane.client, batchFor(lane.builtins))) }
  } finally {
    await lane.close()
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-asked-'))
  asked = join(folder, 'asked.json')
  // Small ones first: most faults are found in any of them.
  const sizes = [
    [300, 0.1],
    [300, 0.9],
    [800, 0.1],
    [800, 0.9],
    [1600, 0.1],
    [1600, 0.9],
  ] as const
  const worlds = sizes.map(
    ([count, ruled], seed) =>
      () =>
        layOut((builtins) => batchOf(seed, 0, count, builtins, ruled)),
  )
  const laid: Asked[] = []
  // One with a rule of the tenant's, and one with a locked rule of the platform's.
  const exhaustive = [8, -1].map((at) => () => layOut((builtins) => exhaustiveBatches(builtins, 1).at(at)!))
  for (const lay of [...worlds, ...exhaustive]) laid.push(await lay())
  await writeFile(asked, JSON.stringify(laid))
})
afterAll(async () => {
  for (const clone of clones) await clone.drop()
  await rm(folder, { recursive: true, force: true })
})

test('each fault changes exactly one place of the product', async () => {
  const counted = await Promise.all(mutants.map(async (mutant) => [mutant.name, await occurrences(mutant)] as const))
  expect(counted.filter(([, times]) => times !== 1)).toEqual([])
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
})

test('DE-04 the product as it is passes, and every fault put into it is found', { timeout: 480_000 }, async () => {
  const waiting: (Mutant | undefined)[] = [undefined, ...mutants]
  const found = new Map<string, number>()
  await Promise.all(
    [1, 2].map(async () => {
      const copy = await workshop()
      try {
        while (waiting.length > 0) {
          const mutant = waiting.shift()
          found.set(mutant?.name ?? 'as it is', await copy.differencesOf(mutant, asked))
        }
      } finally {
        await copy.close()
      }
    }),
  )
  expect(found.get('as it is')).toBe(0)
  expect(mutants.filter(({ name }) => found.get(name) === 0).map(({ name }) => name)).toEqual([])
})
