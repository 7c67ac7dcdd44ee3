// Fifty lanes hammer three server processes with one machine's token and secret, while something is done against it, again and again.
// `npm run campaign:attack [-- --rounds 1000 --control 3]`. What it found goes into docs/campaigns.md by hand.
import { parseArgs } from 'node:util'
import type { Build } from '../../faults/builds.ts'
import { ownPostgres } from '../../faults/own-postgres.ts'
import { faultWorld } from '../../faults/world.ts'
import { faultsOf, playAttacks } from './rounds.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '1000' }, control: { type: 'string', default: '3' } } })
const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: 0 })
const trio = async (build: Build) => {
  const servers = await Promise.all([1, 2, 3].map(() => world.start({ build })))
  return { all: servers.map(({ url }) => url), stop: () => Promise.all(servers.map(({ kill }) => kill())) }
}
try {
  const controls: number[] = []
  const broken = await trio('caches_identities_for_1_s')
  for (let sample = 0; sample < Number(values.control); sample += 1) {
    const played = await playAttacks(world, broken.all, 11, ({ faults }) => faults.length > 0)
    controls.push(faultsOf(played).length > 0 ? played.length : Number.NaN)
  }
  await broken.stop()
  console.log({ build: 'caches_identities_for_1_s', found_after_rounds: controls })

  const { all } = await trio('sound')
  const began = performance.now()
  const seconds = () => Math.round((performance.now() - began) / 1000)
  const played = await playAttacks(world, all, Number(values.rounds), ({ kind, faults }, count) => {
    for (const fault of faults) console.log(`✗ round ${count}, ${kind}: ${fault}`)
    if (count % 100 === 0) console.log(`${count} rounds, ${seconds()} s`)
    return false
  })
  const sum = (figures: readonly number[]) => figures.reduce((total, figure) => total + figure, 0)
  console.log({
    rounds: played.length,
    kinds: new Set(played.map(({ kind }) => kind)).size,
    asked_before: sum(played.map(({ before }) => before)),
    asked_after: sum(played.map(({ after }) => after)),
    tokens: sum(played.map(({ tokens }) => tokens)),
    faults: faultsOf(played).length,
    seconds: seconds(),
  })
  if (faultsOf(played).length > 0 || controls.some(Number.isNaN)) process.exitCode = 1
} finally {
  await world.stop()
  await postgres.stop()
}
