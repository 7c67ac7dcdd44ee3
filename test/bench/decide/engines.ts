import { once } from 'node:events'
import { child, ended } from '../servers.ts'
import type { Entry, Order } from './contestant.ts'
import { type Findings, inTurns, perSecond, table } from './measure.ts'
import type { Question } from './questions.ts'
import type { World } from './world.ts'

const principals = 10_000
const ours = 'gatehouse'
const floor = 'bare Map and bitset'
const peers = ['CASL', 'opa-wasm', 'cedar-wasm', 'casbin']

const enter = async (entry: Entry) => {
  const contestant = child('./decide/contestant.ts')
  const end = once(contestant, 'exit').then(([code]) => {
    throw new Error(`${entry.name} ended with ${code}`)
  })
  // Heard only while it is waited for: in the end all of them leave.
  end.catch(() => {})
  const tell = async (what: Entry | Order): Promise<unknown> => {
    const answer = once(contestant, 'message')
    contestant.send(what)
    return (await Promise.race([answer, end]))[0]
  }
  const { questions, is_cold } = (await tell(entry)) as { questions: Question[]; is_cold: boolean }
  return { ...entry, questions, is_cold, tell, leave: () => ended(contestant) }
}
type Contestant = Awaited<ReturnType<typeof enter>>

/** Nobody is timed who answers differently: the name and the first question of whoever does. */
const requireParity = async (contestants: readonly Contestant[]) => {
  let expected: readonly boolean[] | undefined
  for (const { name, questions, tell } of contestants)
    for (const [index, said] of ((await tell('answer')) as boolean[][]).entries()) {
      expected ??= said
      const other = said.findIndex((each, at) => each !== expected![at])
      if (other >= 0 || said.length !== expected.length)
        throw new Error(
          `${name}, ${['prepared', 'cold'][index]}, says ${said[other]} to ${JSON.stringify(questions[other])}; ${ours} does not`,
        )
    }
  console.log(
    `parity: ${expected!.length} questions, ${expected!.filter(Boolean).length} allowed, the same in every engine, prepared and cold`,
  )
}

const times = (figure: number) => `${figure >= 10 ? figure.toFixed(0) : figure.toFixed(2)}×`

export const compareEngines = async (world: World): Promise<Findings> => {
  await world.growTo(principals)
  const contestants: Contestant[] = []
  try {
    // One after the other: some are busy for seconds while they take the world in.
    for (const name of [ours, floor, ...peers]) contestants.push(await enter({ name, url: world.appUrl, principals }))
    await requireParity(contestants)

    const running = (order: Order) => (each: Contestant) => ({ name: each.name, measure: () => each.tell(order) as Promise<number> })
    const fast = await inTurns(contestants.map(running('run prepared')), 5)
    const slow = await inTurns(contestants.filter(({ is_cold }) => is_cold).map(running('run cold')))
    const [mine, mineCold] = [fast.get(ours)!, slow.get(ours)!]
    const figures = table(
      ['engine', 'prepared/s', 'gatehouse is', 'cold/s', 'gatehouse is'],
      [...fast].map(([name, rate]) => {
        const coldRate = slow.get(name)
        return [
          name,
          perSecond(rate),
          name === ours ? '' : times(mine / rate),
          coldRate ? perSecond(coldRate) : '',
          coldRate && name !== ours ? times(mineCold / coldRate) : '',
        ]
      }),
    )
    const beside = (rates: typeof fast, own: number) => peers.map((name) => `${times(own / rates.get(name)!)} ${name}`).join(', ')
    return {
      figures,
      summary: `prepared ${perSecond(mine)}/s: ${beside(fast, mine)}; cold ${perSecond(mineCold)}/s: ${beside(slow, mineCold)}`,
      promises: [
        { what: 'prepared, ahead of every peer', is_kept: peers.every((name) => mine > fast.get(name)!) },
        { what: 'cold from the tables, ahead of every peer', is_kept: peers.every((name) => mineCold > slow.get(name)!) },
        { what: 'prepared, within 10× of a bare Map and bitset', is_kept: mine * 10 >= fast.get(floor)! },
      ],
    }
  } finally {
    for (const { leave } of contestants) await leave()
  }
}
