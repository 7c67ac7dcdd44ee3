/**
 * Runs what is asked for while runs are under way together in the next one. A run therefore starts after each of its questions was
 * asked, and however many ask, no more runs than that are under way.
 */
export const together = <Question, Answer>(
  run: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  { most_runs = 1, most_questions = Number.POSITIVE_INFINITY } = {},
) => {
  type Waiting = { question: Question; resolve: (answer: Answer) => void; reject: (error: unknown) => void }
  let waiting: Waiting[] = []
  let running = 0

  const go = async (): Promise<void> => {
    running += 1
    // Whoever asks in the same turn of the loop comes along.
    await null
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most_questions)
      waiting = waiting.slice(batch.length)
      try {
        const answers = await run(batch.map(({ question }) => question))
        batch.forEach(({ resolve }, index) => {
          resolve(answers[index]!)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running -= 1
  }

  return (question: Question): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    waiting.push({ question, resolve, reject })
    if (running < most_runs) void go()
    return promise
  }
}
