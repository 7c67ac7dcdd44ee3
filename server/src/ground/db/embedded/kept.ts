import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { RunAs } from './run-as.ts'

export type Kept = {
  pid: number
  /** Settles when the process is gone: its exit code, or the signal that ended it. */
  gone: Promise<number | string>
  end: () => Promise<void>
}

type Message = { pid?: number; exit?: number | string; error?: string }

/** Runs a command under a keeper, so that it ends when we do. */
export const keep = (as: RunAs, logFile: string, command: string, args: string[]): Promise<Kept> => {
  const keeper = spawn(
    process.execPath,
    [join(import.meta.dirname, 'keeper.ts'), String(as.uid ?? ''), String(as.gid ?? ''), logFile, command, ...args],
    {
      cwd: '/',
      // PG* variables of the caller's shell would change what PostgreSQL does.
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  keeper.stdin.on('error', () => {})
  return new Promise((resolve, reject) => {
    let leave: (how: number | string) => void
    const gone = new Promise<number | string>((settle) => {
      leave = settle
    })
    const keeperGone = new Promise<void>((settle) => keeper.once('close', () => settle()))
    const end = async () => {
      keeper.stdin.end()
      await keeperGone
    }
    createInterface(keeper.stdout).on('line', (line) => {
      const { pid, exit, error } = JSON.parse(line) as Message
      if (pid !== undefined) resolve({ pid, gone, end })
      if (exit !== undefined) leave(exit)
      if (error !== undefined) reject(new Error(error))
    })
    keeper.once('error', reject)
    keeper.once('close', () => {
      leave('keeper lost')
      reject(new Error('the keeper ended before it started anything'))
    })
  })
}
