import type { Job } from './job.ts'

interface Observed {
  readonly onEnded: (name: string, outcome: 'done' | 'failed') => void
  readonly onFailed: (error: Error, job: { readonly name: string; readonly doing: string; readonly every_seconds: number }) => void
}

/** The jobs of a process, not started yet. */
export const prepareJobs = <P>(jobs: readonly Job<P>[], parts: P, { onEnded, onFailed }: Observed) => {
  const prepared = jobs.map(({ every_seconds: every, ...job }) => {
    const every_seconds = typeof every === 'number' ? every : every(parts)
    let under_way: Promise<void> | undefined
    let is_wanted = false
    const attempt = async (): Promise<void> => {
      try {
        await job.run(parts)
        onEnded(job.name, 'done')
      } catch (error) {
        onEnded(job.name, 'failed')
        onFailed(error as Error, { ...job, every_seconds })
      }
    }
    /** A run that is under way is not run a second time: a slow database must not get more work. */
    const run = (): Promise<void> => {
      under_way ??= attempt().finally(() => {
        under_way = undefined
      })
      return under_way
    }
    /** Once more after what is under way, which may have looked before there was something to see. */
    const runSoon = async (): Promise<void> => {
      if (is_wanted) return
      is_wanted = true
      await under_way
      is_wanted = false
      await run()
    }
    return { ...job, every_seconds, run, runSoon, settled: async () => under_way }
  })
  let timers: NodeJS.Timeout[] = []
  const each = async (chosen: typeof prepared): Promise<void> => {
    for (const { run } of chosen) await run()
  }
  return {
    /** Runs what is to be run before the first request, and begins to count the time of all. */
    start: async (): Promise<void> => {
      timers = prepared.map(({ run, every_seconds }) => setInterval(run, every_seconds * 1000))
      await each(prepared.filter(({ at_start }) => at_start))
    },
    /** Runs this job as soon as it can, once, however often it is asked meanwhile. */
    runSoon: (name: string): void => {
      void prepared.find((job) => job.name === name)?.runSoon()
    },
    /** No job begins any more; returns when none is under way. */
    stop: async (): Promise<void> => {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(prepared.map(({ settled }) => settled()))
    },
    /** What is to be run last, in the order in which it was declared. */
    finish: (): Promise<void> => each(prepared.filter(({ at_end }) => at_end)),
  }
}
