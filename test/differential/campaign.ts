// Millions of random worlds: `npm run campaign:worlds -- --worlds 10000000 --seed 7 [--resume] [--record]`. The same as the test, only longer.
import { parseArgs } from 'node:util'
import { campaignFlags, openCampaign } from '../campaigns/campaign.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { asSuperuser } from '../superuser.ts'
import { described, type Lane, openLane, randomBatches, runBatches } from './run.ts'

const { values } = parseArgs({
  options: { worlds: { type: 'string', default: '10000000' }, seed: { type: 'string', default: '1' }, ...campaignFlags },
})
const [worlds, seed] = [Number(values.worlds), Number(values.seed)]
/** Worlds of one unit. */
const block = 20_000

interface Unit {
  readonly first: number
  readonly worlds: number
  readonly questions: number
  readonly answers: Readonly<Record<string, number>>
  readonly differences: number
}

const campaign = openCampaign<Unit>('worlds', values, { seed })
const sum = (name: 'worlds' | 'questions' | 'differences') => campaign.units.reduce((total, unit) => total + unit[name], 0)
const answers = () => {
  const all: Record<string, number> = {}
  for (const unit of campaign.units) for (const [name, count] of Object.entries(unit.answers)) all[name] = (all[name] ?? 0) + count
  return all
}

const postgres = await ownPostgres({ settings: { synchronous_commit: 'off', full_page_writes: 'off' } })
const lanes: Lane[] = []
try {
  const name = new URL(postgres.ownerUrl).pathname.slice(1)
  const at = (url: string, database: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href
  // A database for each lane, as copies of the one that is migrated.
  const names = ['worlds_one', 'worlds_two']
  await asSuperuser(at(postgres.superuserUrl, 'postgres'), async (client) => {
    for (const each of names) await client.query(`create database ${each} template ${name}`)
  })
  for (const each of names) lanes.push(await openLane({ superuserUrl: at(postgres.superuserUrl, each), appUrl: at(postgres.appUrl, each) }))
  for (let first = sum('worlds'); first < worlds && sum('differences') === 0; first = sum('worlds')) {
    const tally = await runBatches(lanes, randomBatches(seed, Math.min(block, worlds - first), lanes[0]!.builtins, first))
    const { questions, mismatches } = tally
    campaign.finish({ first, worlds: tally.worlds, questions, answers: tally.answers, differences: mismatches.length })
    if (mismatches.length > 0) console.log(described(tally))
    if (sum('worlds') % 100_000 === 0) console.log(`${sum('worlds')} worlds, ${campaign.seconds()} s`)
  }
  const [asked, questions, differences] = [sum('worlds'), sum('questions'), sum('differences')]
  campaign.end(
    { seed, worlds: asked, questions, differences, answers: answers() },
    {
      verdict: differences > 0 ? 'broken' : asked < 10_000_000 ? 'short' : 'kept',
      figure: `${asked} worlds, ${questions} questions, ${differences} differences (seed ${seed}, ${campaign.seconds()} s)`,
    },
  )
} finally {
  for (const lane of lanes) await lane.close()
  await postgres.stop()
}
