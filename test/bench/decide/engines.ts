import { bitset } from './bitset.ts'
import { casbin } from './casbin.ts'
import { casl } from './casl.ts'
import { cedar } from './cedar.ts'
import type { Engine } from './engine.ts'
import { type Findings, inTurns, perSecond, rateInFlight, rateOf, table } from './measure.ts'
import { opa } from './opa.ts'
import { ours } from './ours.ts'
import { type Question, questionsAbout, sampleOf } from './questions.ts'
import { openStore } from './store.ts'
import type { World } from './world.ts'

const principals = 10_000
const peers: readonly Engine[] = [casl, opa, cedar, casbin]

/** Nobody is timed who answers differently: the name and the first question of whoever does. */
const requireParity = async (
  name: string,
  expected: readonly boolean[],
  questions: readonly Question[],
  ask: (question: Question, lane: number) => boolean | Promise<boolean>,
) => {
  for (const [index, question] of questions.entries())
    if ((await ask(question, 0)) !== expected[index])
      throw new Error(`${name} says ${!expected[index]} and gatehouse ${expected[index]} to ${JSON.stringify(question)}`)
}

const times = (figure: number) => `${figure >= 10 ? figure.toFixed(0) : figure.toFixed(2)}×`

export const compareEngines = async (world: World): Promise<Findings> => {
  await world.growTo(principals)
  const store = openStore(world.appUrl)
  try {
    const questions = questionsAbout(sampleOf(principals, principals), 2 * principals, principals)
    const some = questions.filter((_, index) => index % 10 === 0)
    // One after the other: some hold the thread for seconds while they take the world in.
    const prepared = []
    for (const { name, prepare } of [ours, bitset, ...peers]) prepared.push({ name, ask: await prepare(store, questions) })
    const cold = []
    for (const { name, cold: open } of [ours, ...peers]) cold.push({ name, ask: await open(store) })
    const expected = some.map(prepared[0]!.ask)
    for (const { name, ask } of prepared) await requireParity(`${name}, prepared,`, expected, some, ask)
    for (const { name, ask } of cold) await requireParity(`${name}, cold,`, expected, some, ask)
    const allowed = expected.filter(Boolean).length
    console.log(`parity: ${some.length} questions, ${allowed} allowed, the same in every engine, prepared and cold`)

    const fast = await inTurns(prepared.map(({ name, ask }) => ({ name, measure: () => rateOf(ask, questions, 1) })))
    const slow = await inTurns(cold.map(({ name, ask }) => ({ name, measure: () => rateInFlight(ask, questions, 2) })))
    const [mine, mineCold] = [fast.get(ours.name)!, slow.get(ours.name)!]
    const figures = table(
      ['engine', 'prepared/s', 'gatehouse is', 'cold/s', 'gatehouse is'],
      [...fast].map(([name, rate]) => {
        const coldRate = slow.get(name)
        return [
          name,
          perSecond(rate),
          name === ours.name ? '' : times(mine / rate),
          coldRate ? perSecond(coldRate) : '',
          coldRate && name !== ours.name ? times(mineCold / coldRate) : '',
        ]
      }),
    )
    return {
      figures,
      promises: [
        { what: 'prepared, ahead of every peer', is_kept: peers.every(({ name }) => mine > fast.get(name)!) },
        { what: 'cold from the tables, ahead of every peer', is_kept: peers.every(({ name }) => mineCold > slow.get(name)!) },
        { what: 'prepared, within 10× of a bare Map and bitset', is_kept: mine * 10 >= fast.get(bitset.name)! },
      ],
    }
  } finally {
    await store.close()
  }
}
