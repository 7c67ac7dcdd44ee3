import { writeFileSync } from 'node:fs'
import { operations } from '@gatehouse/contract/operations'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Example, examples } from '../../server/src/rails/http/examples.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { writeTargets } from '../fuzz/write-targets.ts'
import { noRateLimits, serverFixture } from '../live-server.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { sweep } from '../sweep.ts'
import { recordExample } from './record.ts'

// `npm run examples`: every operation is asked, and the file is written anew.
const isWriting = process.env.GATEHOUSE_EXAMPLES === 'write'
const file = new URL('../../server/src/rails/http/examples.json', import.meta.url)

const live = serverFixture({ policies: noRateLimits }, ({ sql }) => writeTargets(sql))
let clone: ClonedDatabase
let world: FaultWorld
let url: string
beforeAll(async () => {
  clone = await cloneDatabase()
  world = await faultWorld(clone)
  url = await world.startHere(async () => {})
})
afterAll(async () => {
  await world.stop()
  await clone.drop()
})

/** What there is in it, and of which type; not how many items a list has, nor what is null today. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length === 0 ? 'list' : [shapeOf(value[0])]
  if (typeof value !== 'object' || value === null) return value === null ? 'anything' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]))
}
/** The members of a reply are there always; those of a policy value, or of metadata, are what they are. */
const membersOf = ({ reply }: Example) => Object.keys((shapeOf(reply) ?? {}) as object).sort()

test('HO-04 OpenAPI: every operation asked for real → its example has the members of the answer', { timeout: 600_000 }, async () => {
  const asked = isWriting ? operations : sweep('examples', operations, 12)
  const recorded: Record<string, Example> = {}
  for (const operation of asked) recorded[operation.id] = await recordExample(world, url, live, operation)
  if (isWriting) writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`)
  else
    for (const [id, example] of Object.entries(recorded)) {
      expect([id, membersOf(example)]).toEqual([id, membersOf(examples[id]!)])
      expect([id, Object.keys(example.params ?? {})]).toEqual([id, Object.keys(examples[id]!.params ?? {})])
    }
})
