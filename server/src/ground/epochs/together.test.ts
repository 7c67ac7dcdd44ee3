import fc from 'fast-check'
import { expect, test } from 'vitest'
import { together } from './together.ts'

/** Runs that end when they are told to. */
const stage = () => {
  const runs: { questions: readonly number[]; end: () => void; fail: (error: Error) => void }[] = []
  const ask = together((questions: readonly number[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>()
    runs.push({ questions, end: () => resolve(questions.map((question) => `answer ${question}`)), fail: reject })
    return promise
  })
  return { runs, ask }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('DE-19 those who ask at the same moment share one run, and each hears his own answer', async () => {
  const { runs, ask } = stage()
  const answers = [1, 2, 3].map((question) => ask(question))
  await turn()
  expect(runs.map(({ questions }) => questions)).toEqual([[1, 2, 3]])
  runs[0]!.end()
  expect(await Promise.all(answers)).toEqual(['answer 1', 'answer 2', 'answer 3'])
})

test('DE-19 who asks during a run is not answered by it but by the next, which waits for it', async () => {
  const { runs, ask } = stage()
  const early = ask(1)
  await turn()
  const late = [ask(2), ask(3)]
  await turn()
  expect(runs).toHaveLength(1)
  runs[0]!.end()
  expect(await early).toBe('answer 1')
  await turn()
  expect(runs.map(({ questions }) => questions)).toEqual([[1], [2, 3]])
  runs[1]!.end()
  expect(await Promise.all(late)).toEqual(['answer 2', 'answer 3'])
})

test('DE-19 an error reaches those whose run it was, and nobody after them', async () => {
  const { runs, ask } = stage()
  const failed = Promise.allSettled([ask(1), ask(2)])
  await turn()
  const next = ask(3)
  runs[0]!.fail(new Error('lost'))
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await turn()
  runs[1]!.end()
  expect(await next).toBe('answer 3')
  const last = ask(4)
  await turn()
  runs[2]!.end()
  expect(await last).toBe('answer 4')
})

test('DE-19 a run that fails before it begins is an error like any other', async () => {
  const ask = together((_questions: readonly number[]): Promise<readonly number[]> => {
    throw new Error('not even begun')
  })
  await expect(ask(1)).rejects.toThrow('not even begun')
  await expect(ask(2)).rejects.toThrow('not even begun')
})

/** Counts time in steps, and says of each answer whether its run began after its question. */
const judged = async (
  sharing: typeof together<number, number>,
  asks: readonly number[],
  lengths: readonly number[],
): Promise<{ stale: number; most: number; runs: number }> => {
  let clock = 0
  const seen = { stale: 0, most: 0, runs: 0 }
  let under_way = 0
  const ask = sharing(async (questions) => {
    clock += 1
    const began = clock
    seen.runs += 1
    under_way += 1
    seen.most = Math.max(seen.most, under_way)
    for (let turns = lengths[seen.runs % lengths.length]!; turns > 0; turns -= 1) await null
    under_way -= 1
    return questions.map(() => began)
  })
  await Promise.all(
    asks.map(async (delay) => {
      for (let turns = delay; turns > 0; turns -= 1) await null
      clock += 1
      const asked = clock
      if ((await ask(asked)) < asked) seen.stale += 1
    }),
  )
  return seen
}

const schedules = [fc.array(fc.nat(40), { minLength: 1, maxLength: 30 }), fc.array(fc.nat(9), { minLength: 1, maxLength: 5 })] as const

test('DE-19 however questions and runs fall, each run begins after its questions, and one is under way at most', async () => {
  await fc.assert(
    fc.asyncProperty(...schedules, async (asks, lengths) => {
      const { stale, most, runs } = await judged(together, asks, lengths)
      expect(stale).toBe(0)
      expect(most).toBe(1)
      expect(runs).toBeLessThanOrEqual(asks.length)
    }),
    { numRuns: 2000 },
  )
})

test('sharing a run that is already under way would be found out', async () => {
  const joining: typeof together<number, number> = (run) => {
    let running: Promise<readonly number[]> | undefined
    return async (question) => {
      running ??= run([question]).finally(() => {
        running = undefined
      })
      return (await running)[0]!
    }
  }
  const property = fc.asyncProperty(...schedules, async (asks, lengths) => (await judged(joining, asks, lengths)).stale === 0)
  expect((await fc.check(property, { numRuns: 2000, seed: 1 })).failed).toBe(true)
})
