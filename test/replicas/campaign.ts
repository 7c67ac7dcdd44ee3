// Three server processes on one database; a right is taken away by one of them while all are asked about it, again and again.
// `npm run campaign:revokes [-- --rounds 10000 --minutes 60 --scenes 6 --seed 7 --samples 5 --control joins_reads --resume --record]`.
import { parseArgs } from 'node:util'
import { campaignFlags, openCampaign } from '../campaigns/campaign.ts'
import type { Build } from '../faults/builds.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { tcpProxy } from '../faults/tcp-proxy.ts'
import { faultWorld } from '../faults/world.ts'
import { chanceFrom } from './access/chance.ts'
import { type Scene, sceneOn } from './revokes.ts'
import { allowsIn, playTogether, type Round } from './rounds.ts'
import { mostRounds, roundsToFind, sensitivityOf } from './sensitivity.ts'

const number = (value: string) => ({ type: 'string', default: value }) as const
const { values } = parseArgs({
  options: {
    rounds: number('10000'),
    minutes: number('600'),
    samples: number('5'),
    scenes: number('6'),
    seed: number('1'),
    control: { type: 'string', multiple: true, default: ['caches_for_200_ms', 'joins_reads'] },
    ...campaignFlags,
  },
})
const { rounds, minutes, samples, scenes: many, seed } = values
const [wanted, mostSeconds] = [Number(rounds), Number(minutes) * 60]

/** How many rounds each try needed to find a broken build (null: not found), or one round of the sound one. */
type Unit = { readonly build: string; readonly needed: readonly (number | null)[] } | { readonly round: Round }
const campaign = openCampaign<Unit>('revokes', values, { seed, scenes: many, samples, control: values.control })
const controls = () => campaign.units.flatMap((unit) => ('build' in unit ? [unit] : []))
const played = () => campaign.units.flatMap((unit) => ('round' in unit ? [unit.round] : []))

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
  while (scenes.length < Number(many)) scenes.push(await sceneOn(world))
  const { revokes } = scenes[0]!
  const first = chanceFrom(Number(seed)).below(15)
  // A resumed run rests at other moments.
  const chance = chanceFrom(Number(seed) * 1_000_003 + campaign.units.length)
  line.delay(2)
  for (const build of values.control as Build[]) {
    if (controls().some((each) => each.build === build)) continue
    const { all, stop } = await trio(build)
    const needed = await roundsToFind(scenes, all, Number(samples), chance)
    campaign.finish({ build, needed: needed.map((each) => (Number.isNaN(each) ? null : each)) })
    console.log({ build, ...sensitivityOf(needed) })
    await stop()
  }
  const { all } = await trio('sound')
  const began = performance.now()
  // A round that could not be played is red, and what was found until then is told all the same.
  let failure: unknown
  const isEnough = (round: Round) => {
    campaign.finish({ round })
    const count = played().length
    if (count % 250 === 0) console.log(`${count} rounds, ${campaign.seconds()} s, ${allowsIn(played()).length} with allows`)
    return performance.now() - began > mostSeconds * 1000
  }
  await playTogether(scenes, all, wanted, { chance, first, done: new Set(played().map((round) => round.number)), isEnough }).catch(
    (error: unknown) => {
      failure = error
      console.log(error)
    },
  )
  const allows = allowsIn(played())
  for (const each of allows.slice(0, 50)) console.log(`✗ ${each}`)
  const sum = (name: 'before' | 'after' | 'unanswered') => played().reduce((total, round) => total + round[name], 0)
  // What the controls needed says how many rounds the sound build has to last; a try that found nothing counts as all its rounds.
  const enough = Math.max(0, ...controls().map(({ needed }) => sensitivityOf(needed.map((each) => each ?? mostRounds)).enough))
  const areFound = controls().every(({ needed }) => needed.some((each) => each !== null))
  const isSound = allows.length === 0 && failure === undefined && areFound
  campaign.end(
    {
      rounds: played().length,
      seed,
      scenes: many,
      kinds: revokes.length,
      rounds_of_a_kind: Math.min(...revokes.map(({ kind }) => played().filter((round) => round.kind === kind).length)),
      asked_before: sum('before'),
      asked_after: sum('after'),
      unanswered: sum('unanswered'),
      allows: allows.length,
      enough,
    },
    {
      verdict: isSound ? (played().length < Math.max(10_000, enough) ? 'short' : 'kept') : 'broken',
      figure: [
        `${played().length} rounds of ${revokes.length} ways, ${allows.length} with an allow after the answer;`,
        `${sum('before')} questions before, ${sum('after')} after, ${sum('unanswered')} answered 503;`,
        `controls found after ${controls()
          .map(({ build, needed }) => `${needed.map((each) => each ?? 'never').join(', ')} rounds (\`${build}\`)`)
          .join(' and ')} (seed ${seed}, ${campaign.seconds()} s)`,
      ].join(' '),
    },
  )
} finally {
  await world.stop()
  await line.stop()
  await postgres.stop()
}
