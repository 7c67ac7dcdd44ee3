// The whole campaign: every operation that changes something × every point, again and again until so many were interrupted.
// `npm run campaign:kills [-- 1000 --together 5]`. What it found goes into docs/campaigns.md by hand.
import { parseArgs } from 'node:util'
import { allPoints, type Case, countStatements, runKills } from './kills.ts'
import { ownPostgres } from './own-postgres.ts'
import { recipes, withoutRecipe } from './recipes.ts'
import { nameOf } from './statement-faults.ts'
import { faultWorld } from './world.ts'

const { values, positionals } = parseArgs({ options: { together: { type: 'string', default: '1' } }, allowPositionals: true })
const wanted = Number(positionals[0] ?? 1000)
const together = Number(values.together)
const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: wanted + 50 })
const started = performance.now()
try {
  const missing = withoutRecipe()
  if (missing.length > 0) throw new Error(`no recipe: ${missing.join(', ')}`)
  const calm = await world.start()
  const once: Case[] = []
  for (const operation of Object.keys(recipes)) {
    const statements = await countStatements(world, calm, operation)
    console.log(`${operation}: ${statements} statements`)
    once.push(...allPoints(statements).map((point) => ({ operation, point })))
  }
  // Every case about equally often, until it is enough.
  const cases = Array.from({ length: wanted }, (_, at) => once[at % once.length]!)
  const tally = await runKills(world, cases, {
    calm,
    together,
    told: ({ kills, interrupted, faults }) => {
      if (kills % 50 === 0) console.log(`${kills} killed, ${interrupted} of ${cases.length} interrupted, ${faults.length} faults`)
    },
  })
  const { faults, ...figures } = tally
  for (const fault of faults.slice(0, 50)) console.log(`✗ ${fault}`)
  console.log({
    ...figures,
    together,
    operations: Object.keys(recipes).length,
    kinds_of_points: new Set(once.map(({ point }) => nameOf(point))).size,
    cases: once.length,
    audit_rows: (await world.sql<{ n: number }>('select count(*)::int as n from audit_logs'))[0]!.n,
    violations: faults.length,
    seconds: Math.round((performance.now() - started) / 1000),
  })
  if (faults.length > 0) process.exitCode = 1
} finally {
  await world.stop()
  await postgres.stop()
}
