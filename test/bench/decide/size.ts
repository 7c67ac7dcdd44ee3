import type { LocalIssuer } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { measureHttp } from './http.ts'
import { type Findings, inTurns, perSecond, rateInFlight, rateOf, table } from './measure.ts'
import { ours } from './ours.ts'
import { questionsAbout, sampleOf } from './questions.ts'
import { openStore } from './store.ts'
import { bindingsPerPerson, type World } from './world.ts'

const sizes = [10_000, 100_000, 1_000_000]
/** As many are asked about at each size, evenly from the whole. */
const asked = 5000

const measureAt = async (world: World, issuer: LocalIssuer, bindings: number) => {
  const population = bindings / bindingsPerPerson
  await world.growTo(population)
  const store = openStore(world.appUrl)
  try {
    const questions = questionsAbout(sampleOf(population, asked), 4 * asked, population)
    const prepared = await ours.prepare(store, questions)
    const cold = await ours.cold(store)
    const rates = await inTurns([
      { name: 'prepared', measure: () => rateOf(prepared, questions, 1) },
      { name: 'cold', measure: () => rateInFlight(cold, questions, 2) },
    ])
    const { ours: http } = await measureHttp(world, issuer, population, 4)
    return { bindings, prepared: rates.get('prepared')!, cold: rates.get('cold')!, http: http.per_second, p99_ms: http.p99_ms }
  } finally {
    await store.close()
  }
}

/** The cost of one decision as the tables grow, beside what it is in the smallest. */
export const compareSizes = async (world: World, issuer: LocalIssuer): Promise<Findings> => {
  const measured: Awaited<ReturnType<typeof measureAt>>[] = []
  for (const bindings of sizes) measured.push(await measureAt(world, issuer, bindings))
  const [least] = measured
  const cost = (kind: 'prepared' | 'cold' | 'http', rate: number) => `${(least![kind] / rate).toFixed(2)}×`
  const figures = table(
    ['bindings', 'prepared/s', 'cost', 'cold/s', 'cost', 'HTTP/s', 'cost', 'p99 ms'],
    measured.map(({ bindings, prepared, cold, http, p99_ms }) => [
      String(bindings),
      perSecond(prepared),
      cost('prepared', prepared),
      perSecond(cold),
      cost('cold', cold),
      perSecond(http),
      cost('http', http),
      p99_ms.toFixed(1),
    ]),
  )
  const kinds = ['prepared', 'cold', 'http'] as const
  const dearest = (kind: (typeof kinds)[number]) => cost(kind, Math.min(...measured.map((each) => each[kind])))
  return {
    figures,
    summary: `up to ${sizes.at(-1)} bindings a decision costs at most ${kinds.map((kind) => `${dearest(kind)} (${kind})`).join(', ')}`,
    promises: kinds.map((kind) => ({
      what: `${kind}: at every size within 1.5× of the smallest`,
      is_kept: measured.every((each) => least![kind] <= 1.5 * each[kind]),
    })),
  }
}
