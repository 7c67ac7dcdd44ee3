import { readFileSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'

export interface Process {
  readonly pid: number
  readonly parent: number
  /** Who started it, whatever it has become since. Not by whom its entry is owned: a process may have that be root. */
  readonly uid: number
}

/** What the kernel has at hand is read at once: to have another thread read it takes ten times as long, and there are thousands. */
const readNow = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

export const processOf = (pid: number): Process | undefined => {
  const status = readNow(`/proc/${pid}/status`)
  const [, state] = /^State:\t(\S)/m.exec(status) ?? []
  // One that has ended and waits to be collected runs no more.
  if (state === undefined || state === 'Z' || state === 'X') return undefined
  return { pid, parent: Number(/^PPid:\t(\d+)/m.exec(status)?.[1]), uid: Number(/^Uid:\t(\d+)/m.exec(status)?.[1]) }
}

/** In ticks since the system was started: a process id comes again, the pair does not. The name of a program may hold blanks and brackets. */
export const startOf = (pid: number): string | undefined => {
  const text = readNow(`/proc/${pid}/stat`)
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

export const allPids = async (): Promise<number[]> => (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)

/** In how many steps others have their turn. */
const at_a_stroke = 100
export const inStrokes = async <T, R>(items: readonly T[], act: (item: T) => R): Promise<R[]> => {
  const done: R[] = []
  for (let index = 0; index < items.length; index += 1) {
    if (index % at_a_stroke === at_a_stroke - 1) await breathe()
    done.push(act(items[index]!))
  }
  return done
}

export const allProcesses = async (): Promise<Process[]> =>
  (await inStrokes(await allPids(), processOf)).filter((each) => each !== undefined)

/** The processes in a group. */
export const pidsNowIn = (group: string): number[] => readNow(`${group}/cgroup.procs`).split('\n').filter(Boolean).map(Number)

/** A process and all that come from it, as far as their parents still tell. */
export const treeOf = (root: number, all: readonly Process[]): Process[] => {
  const within = new Set([root])
  for (let size = 0; size !== within.size; ) {
    size = within.size
    for (const { pid, parent } of all) if (within.has(parent)) within.add(pid)
  }
  return all.filter(({ pid }) => within.has(pid))
}

/** Whether it is root's and an sshd: nobody else can have one as parent but by logging in. */
export const isRootsSshd = async ({ pid, uid }: Process): Promise<boolean> =>
  uid === 0 && basename(await readlink(`/proc/${pid}/exe`).catch(() => '')).startsWith('sshd')

/** Ends a process for good; that it is gone already is as well. */
export const endProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone.
  }
}

let boot: Promise<string> | undefined
/** In which run of the system we are: it stays the same for as long as we run. */
export const thisBoot = (): Promise<string> => {
  boot ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then((text) => text.slice(0, 8))
  return boot
}
