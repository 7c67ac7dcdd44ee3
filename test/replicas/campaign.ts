// Three server processes on one database; a right is taken away by one of them while all are asked about it, again and again.
// `npm run campaign:revokes [-- --rounds 10000 --minutes 6 --scenes 6 --seed 7 --control joins_reads]`. What it found goes into docs/campaigns.md
// by hand.
import { parseArgs } from 'node:util'
import type { Build } from '../faults/builds.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { tcpProxy } from '../faults/tcp-proxy.ts'
import { faultWorld } from '../faults/world.ts'
import { chanceFrom } from './access/chance.ts'
import { type Scene, sceneOn } from './revokes.ts'
import { allowsIn, playTogether, type Round } from './rounds.ts'
import { roundsToFind, sensitivityOf } from './sensitivity.ts'

const number = (value: string) => ({ type: 'string', default: value }) as const
const { values } = parseArgs({
  options: {
    rounds: number('10000'),
    minutes: number('6'),
    samples: number('5'),
    scenes: number('6'),
    seed: number('1'),
    control: { type: 'string', multiple: true, default: ['caches_for_200_ms'] },
  },
})
const [rounds, minutes, samples, many, seed] = [values.rounds, values.minutes, values.samples, values.scenes, values.seed].map(Number) as [
  number,
  number,
  number,
  number,
  number,
]

const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: 0 })
const line = await tcpProxy({ host: '127.0.0.1', port: postgres.port })
/** The last of them has a longer line to the database, so that what it hears is a little older. */
const trio = async (build: Build) => {
  const servers = await Promise.all([{}, {}, { appUrl: line.urlOf(postgres.appUrl) }].map((own) => world.start({ build, ...own })))
  return { all: servers.map(({ url }) => url), stop: () => Promise.all(servers.map(({ kill }) => kill())) }
}
try {
  const scenes: Scene[] = []
  while (scenes.length < many) scenes.push(await sceneOn(world))
  const scene = scenes[0]!
  const chance = chanceFrom(seed)
  line.delay(2)
  for (const build of values.control as Build[]) {
    const { all, stop } = await trio(build)
    console.log({ build, ...sensitivityOf(await roundsToFind(scenes, all, samples, chance)) })
    await stop()
  }
  const { all } = await trio('sound')
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1000
  let late = 0
  const played: Round[] = []
  // A round that could not be played is red, and what was found until then is told all the same.
  await playTogether(scenes, all, rounds, {
    chance,
    isEnough: (round, count) => {
      played.push(round)
      late += round.allows
      if (count % 250 === 0) console.log(`${count} rounds, ${Math.round(seconds())} s, ${late} allows`)
      return seconds() > minutes * 60
    },
  }).catch((error: unknown) => {
    console.log(error)
    process.exitCode = 1
  })
  const allows = allowsIn(played)
  for (const each of allows.slice(0, 50)) console.log(`✗ ${each}`)
  const sum = (figures: readonly number[]) => figures.reduce((total, figure) => total + figure, 0)
  console.log({
    rounds: played.length,
    seed,
    scenes: many,
    kinds: scene.revokes.length,
    rounds_of_a_kind: Math.min(...scene.revokes.map(({ kind }) => played.filter((round) => round.kind === kind).length)),
    asked_before: sum(played.map(({ before }) => before)),
    asked_after: sum(played.map(({ after }) => after)),
    unanswered: sum(played.map(({ unanswered }) => unanswered)),
    allows: allows.length,
    seconds: Math.round(seconds()),
  })
  if (allows.length > 0) process.exitCode = 1
} finally {
  await world.stop()
  await line.stop()
  await postgres.stop()
}
