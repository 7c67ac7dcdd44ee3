import { Problem } from './problem.ts'

/** One at a time: who comes meanwhile is told so, and does not wait holding something that others need. */
export const alone = <T>(what: string, act: () => Promise<T>): (() => Promise<T>) => {
  let isRunning = false
  return async () => {
    if (isRunning) throw new Problem('state_conflict', { state: what })
    isRunning = true
    return act().finally(() => {
      isRunning = false
    })
  }
}
