// Three server processes and two nodes to which answers come late, twice or not at all; who may enter changes all the time, and when all is
// quiet each node must have exactly what it must have. `npm run campaign:access [-- --rounds 2000 --seed 7 --resume --record]`;
// `--control forgets_grants` plays a build with a known mistake instead, which must be found.
import { parseArgs } from 'node:util'
import { campaignFlags, openCampaign } from '../../campaigns/campaign.ts'
import type { Build } from '../../faults/builds.ts'
import { ownPostgres } from '../../faults/own-postgres.ts'
import { faultWorld } from '../../faults/world.ts'
import { accessPlace } from './place.ts'
import { playBatch } from './schedule.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    control: { type: 'string' },
    ...campaignFlags,
  },
})
const [wanted, seed] = [Number(values.rounds), Number(values.seed)]
const at_once = 10
if (values.control !== undefined && values.record) throw new Error('A control is no figure: leave out --record.')
/** The chains of the record are verified after each batch, so that a finished unit is a judged one. */
interface Unit {
  readonly schedules: number
  readonly sets: number
  readonly faults: readonly string[]
}

const campaign = openCampaign<Unit>('access', values, { seed, ...(values.control === undefined ? {} : { control: values.control }) })
const sum = (name: 'schedules' | 'sets') => campaign.units.reduce((total, unit) => total + unit[name], 0)
const faults = () => campaign.units.flatMap((unit) => unit.faults)

const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: 0 })
try {
  // A resumed run goes on with other schedules.
  const place = await accessPlace(
    world,
    values.control === undefined ? {} : { build: values.control as Build },
    seed * 1_000_003 + sum('schedules'),
  )
  let sets = 0
  while (sum('schedules') < wanted && !(values.control !== undefined && faults().length > 0)) {
    const schedules = Math.min(at_once, wanted - sum('schedules'))
    const found = await playBatch(place, schedules)
    const broken = await world.chainFaults()
    for (const each of [...found, ...broken].slice(0, 10)) console.log(`✗ ${each}`)
    campaign.finish({ schedules, sets: place.history.length - sets, faults: [...found, ...broken] })
    sets = place.history.length
    if (sum('schedules') % 100 === 0) console.log(`${sum('schedules')} schedules, ${sum('sets')} sets applied, ${campaign.seconds()} s`)
  }
  campaign.end(
    { schedules: sum('schedules'), sets: sum('sets'), faults: faults().length },
    {
      verdict: faults().length > 0 ? 'broken' : sum('schedules') < 2000 ? 'short' : 'kept',
      figure: `${sum('schedules')} schedules, ${sum('sets')} key sets applied, ${faults().length} faults (seed ${seed}, ${campaign.seconds()} s)`,
    },
  )
  await place.stop()
} finally {
  await world.stop()
  await postgres.stop()
}
