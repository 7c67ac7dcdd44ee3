import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'

export interface Process {
  readonly pid: number
  readonly parent: number
  /** Who started it, whatever it has become since. Not by whom its entry is owned: a process may have that be root. */
  readonly uid: number
  /** In ticks since the system was started: a process id comes again, the pair does not. */
  readonly started: string
}

/** The name of a program may hold blanks and brackets; what counts comes after the last of them. */
const fieldsOf = (text: string): string[] => text.slice(text.lastIndexOf(')') + 2).split(' ')

export const processOf = async (pid: number): Promise<Process | undefined> => {
  try {
    const [text, status] = await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile(`/proc/${pid}/status`, 'utf8')])
    const fields = fieldsOf(text)
    const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1])
    // One that has ended and waits to be collected runs no more.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : { pid, parent: Number(fields[1]), uid, started: fields[19]! }
  } catch {
    return undefined
  }
}

export const allProcesses = async (): Promise<Process[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(pids.map(processOf))
  return found.filter((each) => each !== undefined)
}

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
