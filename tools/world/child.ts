import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { project } from './state.ts'

export type Child = {
  name: string
  /** Settles when it is gone, with how it went. */
  gone: Promise<string>
  /** Asks it to finish, and insists after so many seconds. */
  end: (seconds: number) => Promise<void>
  kill: () => void
  lastWords: () => string
}

type Request = { name: string; file: string; env: Record<string, string>; logFile: string; nodeArgs?: readonly string[] }

// What was meant for us is not meant for them.
const inherited = () => Object.entries(process.env).filter(([name]) => !/^(GATEHOUSE_|DATABASE_|LAUNCHER_PID$)/.test(name))

const openLog = (logFile: string): number => {
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`)
  return openSync(logFile, 'a', 0o600)
}

/** A process of the world. It holds the other end of its standard input as a lifeline, so it ends even when we are killed with -9. */
export const startChild = ({ name, file, env, logFile, nodeArgs = [] }: Request): Child => {
  const log = openLog(logFile)
  const child = spawn(process.execPath, [...nodeArgs, join(project, file)], {
    cwd: project,
    env: { ...Object.fromEntries(inherited()), ...env, GATEHOUSE_LIFELINE: 'stdin' },
    // In a group of its own: Ctrl-C reaches only us, and we end things in order.
    detached: true,
    stdio: ['pipe', log, log],
  })
  closeSync(log)
  child.stdin?.on('error', () => {})
  const gone = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with ${code}`))
  })
  const kill = () => void child.kill('SIGKILL')
  const end = async (seconds: number) => {
    const timer = setTimeout(kill, seconds * 1000)
    child.kill('SIGTERM')
    await gone
    clearTimeout(timer)
  }
  const lastWords = () =>
    readFileSync(logFile, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '' && !/^\s+at |^Node\.js v|^\s*\^+\s*$/.test(line))
      .slice(-5)
      .map((line) => `  ${line.slice(0, 400)}`)
      .join('\n')
  return { name, gone, end, kill, lastWords }
}
