import { joinNext } from './join-next.ts'
import type { Layout } from './layout.ts'
import { allPids, inStrokes, type Process, pidsNowIn, processOf, treeOf } from './processes.ts'
import { isOpen, type Session, sessionReader } from './sessions.ts'

/** What runs on the machine beside sessions that are known, by the number of the account that it runs as. */
export type Beside = ReadonlyMap<number, readonly Process[]>

/** One look at the machine serves all accounts: it costs the same for one and for fifty, and one tenant's weight is not paid by each other. */
export interface Watch {
  /** Sessions of an account, by what is written after this is asked. */
  readonly sessionsOf: (username: string) => Promise<readonly Session[]>
  /** What runs as an account and belongs to no session of anybody's, by what runs after this is asked. */
  readonly besideOf: (uid: number) => Promise<readonly Process[]>
}

/** What of a session runs, as far as it can be told. `all`: where it has no group. */
export const processesOf = async (session: Session, all: () => Promise<readonly Process[]>): Promise<readonly number[]> => {
  if (session.cgroup !== null) return pidsNowIn(session.cgroup)
  return (await isOpen(session)) ? treeOf(session.monitor.pid, await all()).map(({ pid }) => pid) : []
}

export const openWatch = (layout: Layout): Watch => {
  const sessions = joinNext(sessionReader(layout))

  const lookBeside = async (): Promise<Beside> => {
    // In this order: whoever runs as an account was written down before. A process that ended since is nobody's.
    const pids = await allPids()
    const known = [...(await sessions()).values()].flat()
    const groups = known.flatMap(({ cgroup }) => (cgroup === null ? [] : [cgroup]))
    const within = new Set((await inStrokes(groups, pidsNowIn)).flat())
    const others = (
      await inStrokes(
        pids.filter((pid) => !within.has(pid)),
        processOf,
      )
    ).filter((each) => each !== undefined)
    for (const each of known.filter(({ cgroup }) => cgroup === null))
      for (const pid of await processesOf(each, async () => others)) within.add(pid)
    const beside = new Map<number, Process[]>()
    for (const each of others.filter(({ pid }) => !within.has(pid))) {
      const theirs = beside.get(each.uid)
      if (theirs) theirs.push(each)
      else beside.set(each.uid, [each])
    }
    return beside
  }
  const beside = joinNext(lookBeside)

  return {
    sessionsOf: async (username) => (await sessions()).get(username) ?? [],
    besideOf: async (uid) => (await beside()).get(uid) ?? [],
  }
}
