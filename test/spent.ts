import { readFileSync } from 'node:fs'

/** What a test file waits for before it can ask anything. The rest of its time is its own computing, and waiting for others. */
export type SetUp = 'database set-up' | 'server set-up' | 'process starts'

interface Spent {
  readonly wall_ms: number
  readonly cpu_ms: number
  readonly count: number
}

// One account for a worker, whichever copy of this module writes to it.
const account = globalThis as { gatehouseSpent?: Map<SetUp, Spent>; gatehouseSpending?: number }

export const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Processor time of the processes that this one has started and seen end, with their own ended children. Linux alone tells it. */
export const childrenCpuMs = (): number => {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // After the name, which may hold spaces: cutime and cstime, in hundredths of a second.
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(13, 15)
    return (Number(user) + Number(system)) * 10
  } catch {
    return 0
  }
}

/** Does something and books the time to its kind. What is set up within another set-up is booked once, to the outer one. */
export const spend = async <T>(kind: SetUp, act: () => Promise<T>): Promise<T> => {
  account.gatehouseSpending = (account.gatehouseSpending ?? 0) + 1
  const isOuter = account.gatehouseSpending === 1
  const [wall, cpu] = [performance.now(), cpuMs()]
  try {
    return await act()
  } finally {
    account.gatehouseSpending -= 1
    if (isOuter) {
      account.gatehouseSpent ??= new Map()
      const before = account.gatehouseSpent.get(kind) ?? { wall_ms: 0, cpu_ms: 0, count: 0 }
      account.gatehouseSpent.set(kind, {
        wall_ms: before.wall_ms + performance.now() - wall,
        cpu_ms: before.cpu_ms + cpuMs() - cpu,
        count: before.count + 1,
      })
    }
  }
}

/** What has been booked since it was asked last. */
export const takeSpent = (): Record<string, Spent> => {
  const taken = Object.fromEntries(account.gatehouseSpent ?? [])
  account.gatehouseSpent?.clear()
  return taken
}
