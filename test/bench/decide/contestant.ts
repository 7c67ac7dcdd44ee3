// One engine in a process of its own, as it would be in an application: no other engine's garbage or shapes slow it down.
import { bitset } from './bitset.ts'
import { casbin } from './casbin.ts'
import { casl } from './casl.ts'
import { cedar } from './cedar.ts'
import type { Engine } from './engine.ts'
import { rateInFlight, rateOf } from './measure.ts'
import { opa } from './opa.ts'
import { ours } from './ours.ts'
import { questionsAbout, sampleOf } from './questions.ts'
import { openStore } from './store.ts'

export interface Entry {
  readonly name: string
  readonly url: string
  readonly principals: number
}
export type Order = 'answer' | 'run prepared' | 'run cold'

const engines: readonly (Pick<Engine, 'name' | 'prepare'> & Partial<Engine>)[] = [ours, bitset, casl, opa, cedar, casbin]

const enter = async ({ name, url, principals }: Entry) => {
  const { prepare, cold: open } = engines.find((engine) => engine.name === name)!
  const store = openStore(url)
  const questions = questionsAbout(sampleOf(principals, principals), 2 * principals, principals)
  const some = questions.filter((_, index) => index % 10 === 0)
  const prepared = await prepare(store, questions)
  const cold = await open?.(store)
  const orders = {
    /** What it says to some of the questions, prepared and cold: nobody is timed who answers differently. */
    answer: async () => {
      const [asked, said]: [boolean[], boolean[]] = [some.map(prepared), []]
      if (cold) for (const question of some) said.push(await cold(question, 0))
      return cold ? [asked, said] : [asked]
    },
    'run prepared': () => rateOf(prepared, questions, 1),
    'run cold': () => rateInFlight(cold!, questions, 2),
  } satisfies Record<Order, () => unknown>
  process.on('message', async (order: Order) => process.send!(await orders[order]()))
  process.send!({ questions: some, is_cold: cold !== undefined })
}
process.on('disconnect', () => process.exit(0))
process.once('message', enter)
