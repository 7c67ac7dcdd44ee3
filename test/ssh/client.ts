import { type ChildProcessWithoutNullStreams, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { DesiredKey } from '@gatehouse/contract/node-tasks'
import type { PrivateSshd } from './private-sshd.ts'

/** A key pair as a person has it: the private half in a file, the public one as a line. */
export interface Pair {
  readonly file: string
  readonly line: string
  readonly key_type: DesiredKey['key_type']
  readonly blob: string
  readonly fingerprint: string
}

export const newPair = (folder: string, name: string, type = 'ed25519'): Pair => {
  const file = join(folder, `key-${name}`)
  execFileSync('/usr/bin/ssh-keygen', ['-q', '-t', type, '-N', '', '-C', `${name}@laptop`, '-f', file])
  const line = readFileSync(`${file}.pub`, 'utf8').trim()
  const [key_type, blob] = line.split(' ') as [DesiredKey['key_type'], string]
  const fingerprint = execFileSync('/usr/bin/ssh-keygen', ['-l', '-f', `${file}.pub`], { encoding: 'utf8' }).split(' ')[1]!
  return { file, line, key_type, blob, fingerprint }
}

const argsFor = ({ port }: Pick<PrivateSshd, 'port'>, username: string, { file }: Pick<Pair, 'file'>, more: readonly string[]) => [
  ...['-F', 'none', '-p', `${port}`, '-i', file, '-o', 'IdentitiesOnly=yes', '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no'],
  ...['-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR', '-o', 'ConnectTimeout=20', ...more, `${username}@127.0.0.1`],
]

export interface LoggedIn {
  readonly code: number
  readonly said: string
}

/** An sshd that has just been told to read its settings again does not listen for a moment; that says nothing of a key. */
const isBetween = (said: string): boolean => /Connection refused|kex_exchange_identification/.test(said)

const logInOnce = (
  sshd: Pick<PrivateSshd, 'port'>,
  username: string,
  pair: Pick<Pair, 'file'>,
  command = 'echo in as $(whoami)',
  more: readonly string[] = [],
): Promise<LoggedIn> =>
  new Promise((resolve) => {
    const child = execFile(
      '/usr/bin/ssh',
      [...argsFor(sshd, username, pair, more), command],
      { timeout: 100_000 },
      (error, stdout, stderr) => {
        resolve({ code: error ? (typeof error.code === 'number' ? error.code : 254) : 0, said: `${stdout}${stderr}`.trim() })
      },
    )
    child.stdin?.end()
  })

/** Logs in, runs one command and leaves. */
export const logIn = async (...asked: Parameters<typeof logInOnce>): Promise<LoggedIn> => {
  for (let tries = 1; ; tries += 1) {
    const logged = await logInOnce(...asked)
    if (tries === 50 || !isBetween(logged.said)) return logged
    await pause(100)
  }
}

export interface LiveSession {
  /** The first line that it said. */
  readonly said: string
  readonly say: (text: string) => void
  readonly next: () => Promise<string>
  readonly isOpen: () => boolean
  readonly ended: Promise<unknown>
  readonly close: () => Promise<void>
}

/** Logs in and stays, with a shell at the other end. */
export const stayIn = async (...asked: Parameters<typeof stayInOnce>): Promise<LiveSession> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await stayInOnce(...asked)
    } catch (error) {
      if (tries === 50 || !isBetween(String(error))) throw error
      await pause(100)
    }
  }
}

const stayInOnce = async (sshd: Pick<PrivateSshd, 'port'>, username: string, pair: Pick<Pair, 'file'>): Promise<LiveSession> => {
  const child: ChildProcessWithoutNullStreams = spawn('/usr/bin/ssh', [...argsFor(sshd, username, pair, []), 'bash'])
  const ended = once(child, 'exit')
  const lines: string[] = []
  const waiting: ((line: string) => void)[] = []
  const complaints: string[] = []
  let rest = ''
  child.stderr.on('data', (bytes: Buffer) => complaints.push(bytes.toString('utf8')))
  child.stdin.on('error', () => {})
  child.stdout.on('data', (bytes: Buffer) => {
    rest += bytes.toString('utf8')
    const parts = rest.split('\n')
    rest = parts.pop()!
    for (const line of parts) {
      const taker = waiting.shift()
      if (taker) taker(line)
      else lines.push(line)
    }
  })
  const next = (): Promise<string> => {
    const line = lines.shift()
    if (line !== undefined) return Promise.resolve(line)
    const said = new Promise<string>((resolve) => waiting.push(resolve))
    return Promise.race([said, ended.then(() => Promise.reject(new Error(`the session has ended: ${complaints.join('')}`)))])
  }
  const say = (text: string) => void child.stdin.write(`${text}\n`)
  say('echo in as $(whoami)')
  const said = await next()
  ended.catch(() => {})
  return {
    said,
    say,
    next,
    isOpen: () => child.exitCode === null && child.signalCode === null,
    ended,
    close: async () => {
      child.stdin.end()
      const late = setTimeout(() => child.kill(), 30_000)
      await ended
      clearTimeout(late)
    },
  }
}
