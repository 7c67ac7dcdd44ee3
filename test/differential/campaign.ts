// Millions of random worlds: `npm run campaign:worlds -- --worlds 1000000 --seed 7`. The same as the test, only longer.
import { parseArgs } from 'node:util'
import { ownPostgres } from '../faults/own-postgres.ts'
import { asSuperuser } from '../superuser.ts'
import { described, type Lane, openLane, randomBatches, runBatches } from './run.ts'

const { values } = parseArgs({ options: { worlds: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '1' } } })
const [worlds, seed] = [Number(values.worlds), Number(values.seed)]
const postgres = await ownPostgres({ settings: { synchronous_commit: 'off', full_page_writes: 'off' } })
const lanes: Lane[] = []
const started = performance.now()
try {
  const name = new URL(postgres.ownerUrl).pathname.slice(1)
  const at = (url: string, database: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href
  // A database for each lane, as copies of the one that is migrated.
  const names = ['worlds_one', 'worlds_two']
  await asSuperuser(at(postgres.superuserUrl, 'postgres'), async (client) => {
    for (const each of names) await client.query(`create database ${each} template ${name}`)
  })
  for (const each of names) lanes.push(await openLane({ superuserUrl: at(postgres.superuserUrl, each), appUrl: at(postgres.appUrl, each) }))
  const tally = await runBatches(lanes, randomBatches(seed, worlds, lanes[0]!.builtins), ({ worlds: done }) => {
    if (done % 100_000 === 0) console.log(`${done} worlds, ${Math.round((performance.now() - started) / 1000)} s`)
  })
  console.log({
    ...{ seed, worlds: tally.worlds, questions: tally.questions, differences: tally.mismatches.length, answers: tally.answers },
    seconds: Math.round((performance.now() - started) / 1000),
  })
  if (tally.mismatches.length > 0) {
    console.log(described(tally))
    process.exitCode = 1
  }
} finally {
  for (const lane of lanes) await lane.close()
  await postgres.stop()
}
