// A process of its own: `keeper.ts <uid> <gid> <log file> <command> [args]`. It runs the command and ends it when its standard input closes,
// which the kernel sees to even when the parent is killed with -9. So no database outlives the process that asked for it.
import { spawn } from 'node:child_process'
import { openSync } from 'node:fs'

const [uid, gid, logFile, command, ...args] = process.argv.slice(2) as [string, string, string, string, ...string[]]

// A file and not a pipe: PostgreSQL must never wait for a reader that is gone.
const log = openSync(logFile, 'a', 0o600)
const as = uid ? { uid: Number(uid), gid: Number(gid) } : {}
// In its own process group: Ctrl-C at the terminal must not reach it before the server has drained.
const kept = spawn(command, args, { ...as, cwd: '/', detached: true, stdio: ['ignore', log, log] })

const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`)
process.stdout.on('error', () => {})

const end = (signal: NodeJS.Signals) => {
  try {
    if (kept.pid) process.kill(-kept.pid, signal)
  } catch {
    // Gone already.
  }
}

let isEnding = false
const endInSteps = () => {
  if (isEnding) return
  isEnding = true
  end('SIGINT')
  setTimeout(() => end('SIGQUIT'), 10_000)
  setTimeout(() => end('SIGKILL'), 15_000)
}

kept.on('error', (error) => {
  say({ error: error.message })
  process.exit(1)
})
kept.on('spawn', () => say({ pid: kept.pid }))
kept.on('exit', (code, signal) => {
  say({ exit: code ?? signal })
  process.exit(0)
})

process.stdin.on('end', endInSteps).on('error', endInSteps).resume()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, endInSteps)
