// Fifty lanes hammer three server processes with one machine's token and secret, while something is done against it, again and again.
// `npm run campaign:attack [-- --rounds 10000 --control 3 --resume --record]`.
import { parseArgs } from 'node:util'
import { campaignFlags, openCampaign } from '../../campaigns/campaign.ts'
import type { Build } from '../../faults/builds.ts'
import { ownPostgres } from '../../faults/own-postgres.ts'
import { faultWorld } from '../../faults/world.ts'
import { faultsOf, playAttacks, type Round } from './rounds.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10000' }, control: { type: 'string', default: '3' }, ...campaignFlags },
})
const [wanted, samples] = [Number(values.rounds), Number(values.control)]

/** Rounds until the broken build was found (null: it was not), or one round of the sound one. */
type Unit = { readonly found_after: number | null } | { readonly round: Round }
const campaign = openCampaign<Unit>('attack', values, { control: samples })
const controls = () => campaign.units.flatMap((unit) => ('found_after' in unit ? [unit.found_after] : []))
const played = () => campaign.units.flatMap((unit) => ('round' in unit ? [unit.round] : []))

const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: 0 })
const trio = async (build: Build) => {
  const servers = await Promise.all([1, 2, 3].map(() => world.start({ build })))
  return { all: servers.map(({ url }) => url), stop: () => Promise.all(servers.map(({ kill }) => kill())) }
}
try {
  if (controls().length < samples) {
    const broken = await trio('caches_identities_for_1_s')
    while (controls().length < samples) {
      const tried = await playAttacks(world, broken.all, 11, ({ faults }) => faults.length > 0)
      campaign.finish({ found_after: faultsOf(tried).length > 0 ? tried.length : null })
    }
    await broken.stop()
  }
  console.log({ build: 'caches_identities_for_1_s', found_after_rounds: controls() })

  const { all } = await trio('sound')
  let count = played().length
  const tell = (round: Round) => {
    count += 1
    campaign.finish({ round })
    for (const fault of round.faults) console.log(`✗ round ${count}, ${round.kind}: ${fault}`)
    if (count % 100 === 0) console.log(`${count} rounds, ${campaign.seconds()} s`)
    return false
  }
  if (count < wanted) await playAttacks(world, all, wanted - count, tell, count)
  const rounds = played()
  const faults = faultsOf(rounds).length
  const sum = (name: 'before' | 'after' | 'tokens') => rounds.reduce((total, round) => total + round[name], 0)
  const isFound = controls().some((each) => each !== null)
  const kinds = new Set(rounds.map(({ kind }) => kind)).size
  campaign.end(
    { rounds: rounds.length, kinds, asked_before: sum('before'), asked_after: sum('after'), tokens: sum('tokens'), faults },
    {
      verdict: faults > 0 || !isFound ? 'broken' : rounds.length < 10_000 ? 'short' : 'kept',
      figure: [
        `${rounds.length} rounds of ${kinds} acts, ${faults} faults; ${sum('before')} requests before the act was answered,`,
        `${sum('after')} after, ${sum('tokens')} tokens; the control was found after ${controls()
          .map((each) => each ?? 'never')
          .join(', ')} rounds (${campaign.seconds()} s)`,
      ].join(' '),
    },
  )
} finally {
  await world.stop()
  await postgres.stop()
}
