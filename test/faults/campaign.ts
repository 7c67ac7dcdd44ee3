// The whole campaign: every operation that changes something is killed at every point, in an order by chance.
// `npm run campaign:kills [-- 1000 --together 5 --fsync --seed 7 --resume --record]`. Without a number every case is tried once.
import { parseArgs } from 'node:util'
import { campaignFlags, openCampaign } from '../campaigns/campaign.ts'
import { chanceFrom } from '../replicas/access/chance.ts'
import { allPoints, type Case, countStatements, runKills, type Tally } from './kills.ts'
import { ownPostgres } from './own-postgres.ts'
import { coverage, recipes, withoutRecipe } from './recipes.ts'
import type { ServerProcess } from './server-process.ts'
import { nameOf } from './statement-faults.ts'
import { type FaultWorld, faultWorld } from './world.ts'

const { values, positionals } = parseArgs({
  options: {
    together: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    fsync: { type: 'boolean', default: false },
    ...campaignFlags,
  },
  allowPositionals: true,
})
const [together, seed] = [Number(values.together), Number(values.seed)]
/**
 * Cases of one unit, in a world of their own: a finished unit is a judged one, and no world gets so old that tokens, tasks or keys in it
 * come to their end.
 */
const block = 200

/** How many statements each operation has, counted once; then the blocks. */
type Unit = { readonly statements: Readonly<Record<string, number>> } | ({ readonly first: number; readonly cases: number } & Tally)

const missing = withoutRecipe()
if (missing.length > 0) throw new Error(`no recipe: ${missing.join(', ')}`)
const campaign = openCampaign<Unit>('kills', values, { seed, together, fsync: values.fsync })
const blocks = () => campaign.units.filter((unit) => 'first' in unit)
const sum = (name: 'cases' | 'kills' | 'interrupted' | 'unknown' | 'answered' | 'present' | 'absent') =>
  blocks().reduce((total, each) => total + each[name], 0)
const faults = () => blocks().flatMap((each) => each.faults)

const inWorld = async <T>(cases: number, play: (world: FaultWorld, calm: ServerProcess) => Promise<T>): Promise<T> => {
  const postgres = await ownPostgres({ settings: { fsync: values.fsync ? 'on' : 'off' } })
  try {
    // Each case uses up a person or a node at most.
    const world = await faultWorld(postgres, { people: cases })
    try {
      return await play(world, await world.start())
    } finally {
      await world.stop()
    }
  } finally {
    await postgres.stop()
  }
}

const rehearse = async (): Promise<Readonly<Record<string, number>>> => {
  const known = campaign.units.find((unit) => 'statements' in unit)
  if (known) return known.statements
  const statements: Record<string, number> = {}
  await inWorld(Object.keys(recipes).length, async (world, calm) => {
    for (const operation of Object.keys(recipes)) statements[operation] = await countStatements(world, calm, operation)
  })
  campaign.finish({ statements })
  return statements
}

const statements = await rehearse()
const inOrder = Object.entries(statements).flatMap(([operation, count]) => allPoints(count).map((point): Case => ({ operation, point })))
const once = chanceFrom(seed).shuffled(inOrder)
const wanted = positionals[0] === undefined ? once.length : Number(positionals[0])
console.log(`${Object.keys(statements).length} operations, ${once.length} cases, ${wanted} wanted`)
// Every case about equally often, until it is enough.
const cases = Array.from({ length: wanted }, (_, at) => once[at % once.length]!)
for (let first = sum('cases'); first < wanted; first = sum('cases')) {
  const part = cases.slice(first, first + block)
  const tally = await inWorld(part.length, (world, calm) => runKills(world, part, { calm, together }))
  for (const fault of tally.faults.slice(0, 50)) console.log(`✗ ${fault}`)
  campaign.finish({ ...tally, first, cases: part.length })
  console.log(`${sum('kills')} killed, ${sum('cases')} of ${wanted} cases, ${faults().length} faults, ${campaign.seconds()} s`)
}

const violations = faults().length
const isWhole = sum('cases') >= once.length && sum('kills') >= 1000 && values.fsync
campaign.end(
  {
    ...{ killed: sum('kills'), interrupted: sum('interrupted'), unknown: sum('unknown'), answered: sum('answered') },
    ...{ had_happened: sum('present'), had_not: sum('absent'), violations, together, fsync: values.fsync },
    ...{ operations: Object.keys(statements).length, kinds_of_points: new Set(once.map(({ point }) => nameOf(point))).size },
    ...{ cases: once.length, tried: sum('cases') },
  },
  {
    verdict: violations > 0 ? 'broken' : isWhole ? 'kept' : 'short',
    figure: [
      `${sum('kills')} processes killed in ${sum('interrupted')} changes, ${violations} violations;`,
      `${Math.min(sum('cases'), once.length)} of ${once.length} cases (operation × point), \`fsync\` ${values.fsync ? 'on' : 'off'},`,
      `${sum('unknown')} without an answer, ${sum('present')} had happened (seed ${seed}, ${campaign.seconds()} s)`,
    ].join(' '),
    note: coverage(),
  },
)
