// Three server processes and two nodes to which answers come late, twice or not at all; who may enter changes all the time, and when all is
// quiet each node must have exactly what it must have. `npm run campaign:access [-- --rounds 2000 --seed 7 --control forgets_grants]`.
import { parseArgs } from 'node:util'
import { verifyChains } from '../../../server/src/audit/verify-chains.ts'
import type { Build } from '../../faults/builds.ts'
import { ownPostgres } from '../../faults/own-postgres.ts'
import { faultWorld } from '../../faults/world.ts'
import { accessPlace } from './place.ts'
import { playBatch } from './schedule.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '2000' }, seed: { type: 'string', default: '1' }, control: { type: 'string' } },
})
const rounds = Number(values.rounds)
const at_once = 10

const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: 0 })
try {
  const place = await accessPlace(world, values.control === undefined ? {} : { build: values.control as Build }, Number(values.seed))
  const began = performance.now()
  let [played, faults] = [0, 0]
  while (played < rounds) {
    const found = await playBatch(place, Math.min(at_once, rounds - played))
    played += at_once
    faults += found.length
    for (const each of found.slice(0, 10)) console.log(`✗ ${each}`)
    if (played % 100 === 0)
      console.log(`${played} schedules, ${place.history.length} sets applied, ${Math.round((performance.now() - began) / 1000)} s`)
    if (found.length > 0 && values.control !== undefined) break
  }
  const { faults: broken } = await verifyChains(world.reader, world.key)
  for (const each of broken) console.log(each)
  console.log({
    schedules: played,
    sets: place.history.length,
    faults,
    chains: broken.length,
    seconds: Math.round((performance.now() - began) / 1000),
  })
  if (faults + broken.length > 0) process.exitCode = 1
  await place.stop()
} finally {
  await world.stop()
  await postgres.stop()
}
