// Three server processes on one database; a right is taken away by one of them while all are asked about it, again and again.
// `npm run campaign:revokes [-- --rounds 10000 --minutes 6]`. What it found goes into docs/campaigns.md by hand.
import { parseArgs } from 'node:util'
import type { Build } from '../faults/builds.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { faultWorld } from '../faults/world.ts'
import { sceneOn } from './revokes.ts'
import { allowsIn, playRounds } from './rounds.ts'
import { roundsToFind, sensitivityOf } from './sensitivity.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10000' },
    minutes: { type: 'string', default: '6' },
    samples: { type: 'string', default: '5' },
  },
})
const [rounds, minutes, samples] = [values.rounds, values.minutes, values.samples].map(Number) as [number, number, number]

const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: 0 })
const trio = (build: Build) => Promise.all([1, 2, 3].map(() => world.start({ build })))
try {
  const scene = await sceneOn(world)
  for (const build of ['caches_for_200_ms', 'joins_reads'] as const) {
    const servers = await trio(build)
    const needed = await roundsToFind(
      scene,
      servers.map(({ url }) => url),
      samples,
    )
    console.log({ build, ...sensitivityOf(needed) })
    await Promise.all(servers.map(({ kill }) => kill()))
  }
  const servers = await trio('sound')
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1000
  const played = await playRounds(
    scene,
    servers.map(({ url }) => url),
    rounds,
    (_round, count) => {
      if (count % 500 === 0) console.log(`${count} rounds, ${Math.round(seconds())} s`)
      return seconds() > minutes * 60
    },
  )
  const allows = allowsIn(played)
  for (const each of allows.slice(0, 50)) console.log(`✗ ${each}`)
  const sum = (figures: readonly number[]) => figures.reduce((total, figure) => total + figure, 0)
  console.log({
    rounds: played.length,
    kinds: scene.revokes.length,
    asked_before: sum(played.map(({ before }) => before)),
    asked_after: sum(played.map(({ after }) => after)),
    allows: allows.length,
    seconds: Math.round(seconds()),
  })
  if (allows.length > 0) process.exitCode = 1
} finally {
  await world.stop()
  await postgres.stop()
}
