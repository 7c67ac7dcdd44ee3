interface Waiting<Question, Answer> {
  readonly question: Question
  readonly until: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

export interface TogetherOptions {
  readonly most_runs?: number
  readonly most_questions?: number
  /** What they are told whose time is over. */
  readonly late?: () => Error
}

/** How exactly a time is kept to. */
const graceMs = 50

/**
 * Runs what is asked for while runs are under way together in the next one. A run therefore starts after each of its questions was
 * asked, and however many ask, no more runs than that are under way. Who says until when he waits (by `performance.now()`) is then told
 * that it is late; what still comes is not heard.
 */
export const together = <Question, Answer>(
  run: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  { most_runs = 1, most_questions = Number.POSITIVE_INFINITY, late = () => new Error('late') }: TogetherOptions = {},
) => {
  let waiting: Waiting<Question, Answer>[] = []
  const under_way = new Set<readonly Waiting<Question, Answer>[]>()
  let running = 0
  let clock: NodeJS.Timeout | undefined

  // One clock for all who wait: a timer for each of them would cost more than their answer.
  const tick = () => {
    const now = performance.now()
    const isLate = ({ until }: { until: number }) => until <= now
    for (const batch of [waiting, ...under_way]) for (const { reject } of batch.filter(isLate)) reject(late())
    waiting = waiting.filter((each) => !isLate(each))
    if (waiting.length > 0 || under_way.size > 0) return
    clearInterval(clock)
    clock = undefined
  }

  const go = async (): Promise<void> => {
    if (waiting.length === 0) {
      running -= 1
      return
    }
    const batch = waiting.slice(0, most_questions)
    waiting = waiting.slice(batch.length)
    under_way.add(batch)
    try {
      const answers = await run(batch.map(({ question }) => question))
      batch.forEach(({ resolve }, index) => {
        resolve(answers[index]!)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    under_way.delete(batch)
    goSoon()
  }

  /** Whoever asks in the same turn of the loop comes along: what lies ready on other connections is read first. */
  const goSoon = () => setImmediate(go)

  return (question: Question, until = Number.POSITIVE_INFINITY): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    waiting.push({ question, until, resolve, reject })
    if (running < most_runs) {
      running += 1
      goSoon()
    }
    if (until < Number.POSITIVE_INFINITY) clock ??= setInterval(tick, graceMs)
    return promise
  }
}
