import { readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

type Postmaster = { pid: number; isReady: boolean }

const pidFile = (dataDir: string) => join(dataDir, 'postmaster.pid')

/** What `postmaster.pid` says: the first line is the process, the eighth its state. */
export const readPostmaster = (dataDir: string): Postmaster | undefined => {
  try {
    const lines = readFileSync(pidFile(dataDir), 'utf8').split('\n')
    return { pid: Number(lines[0]), isReady: lines[7]?.trim() === 'ready' }
  } catch {
    return undefined
  }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

// A number may have been given to another process since: PostgreSQL works in its data folder, and nothing else does.
const isPostgresOn = (pid: number, dataDir: string): boolean => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dataDir) && readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres')
  } catch {
    return false
  }
}

const signal = (pid: number, name: NodeJS.Signals) => {
  try {
    process.kill(pid, name)
  } catch {
    // Gone already.
  }
}

/** Ends the PostgreSQL of a former run. The caller holds the lock on this folder, so nobody alive is using it. */
export const endFormer = async (dataDir: string, log: (line: string) => void): Promise<void> => {
  const former = readPostmaster(dataDir)
  if (!former) return
  if (!isPostgresOn(former.pid, dataDir)) {
    // After a reboot the number may belong to someone else of the same user, and PostgreSQL would believe that it is running.
    if (isAlive(former.pid)) rmSync(pidFile(dataDir), { force: true })
    return
  }
  log('ending the PostgreSQL of a former run')
  for (const [name, seconds] of [
    ['SIGINT', 15],
    ['SIGQUIT', 5],
    ['SIGKILL', 5],
  ] as const) {
    signal(former.pid, name)
    for (let waited = 0; waited < seconds * 1000; waited += 50) {
      if (!isPostgresOn(former.pid, dataDir)) return
      await sleep(50)
    }
  }
}
