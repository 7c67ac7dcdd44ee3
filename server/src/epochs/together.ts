/**
 * Runs what is asked for while a run is under way together in the next one. A run therefore starts after each of its questions was
 * asked, and however many ask, at most one run is under way.
 */
export const together = <Question, Answer>(run: (questions: readonly Question[]) => Promise<readonly Answer[]>) => {
  type Waiting = { question: Question; resolve: (answer: Answer) => void; reject: (error: unknown) => void }
  let waiting: Waiting[] = []
  let isRunning = false

  const go = async (): Promise<void> => {
    isRunning = true
    // Whoever asks in the same turn of the loop comes along.
    await null
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        const answers = await run(batch.map(({ question }) => question))
        batch.forEach(({ resolve }, index) => {
          resolve(answers[index]!)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isRunning = false
  }

  return (question: Question): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    waiting.push({ question, resolve, reject })
    if (!isRunning) void go()
    return promise
  }
}
