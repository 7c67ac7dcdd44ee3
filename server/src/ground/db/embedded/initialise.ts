import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { keep } from './kept.ts'
import { newPasswords, writePasswords } from './passwords.ts'
import type { RunAs } from './run-as.ts'
import { StartRefused } from './start-refused.ts'

type Request = {
  dataDir: string
  binDir: string
  major: number
  as: RunAs
  isDurable: boolean
  logFile: string
  log: (line: string) => void
}

const isComplete = (dataDir: string) => existsSync(join(dataDir, 'PG_VERSION')) && existsSync(join(dataDir, 'global/pg_control'))

/** Same order and same letters on every version: code points, Unicode letters, no dependence on the host's locales where that can be had. */
const localeArgs = (major: number) =>
  major >= 17 ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : ['--locale=C.UTF-8']

const unfinished = (dataDir: string) => `${basename(dataDir)}.new-`

// The folder gets its name last, so a name means a complete folder; a killed `initdb` leaves only something to sweep.
const sweep = (dataDir: string) => {
  for (const name of readdirSync(dirname(dataDir))) {
    if (name.startsWith(unfinished(dataDir))) rmSync(join(dirname(dataDir), name), { recursive: true, force: true, maxRetries: 5 })
  }
}

const setAside = (dataDir: string, log: (line: string) => void) => {
  if (!existsSync(dataDir)) return
  if (readdirSync(dataDir).length === 0) return rmSync(dataDir, { recursive: true })
  const aside = `${dataDir}.incomplete-${Date.now()}`
  renameSync(dataDir, aside)
  log(`the data folder was not a complete database; it was set aside as ${aside}`)
}

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** What it said last, or rather what it said was wrong: it goes on to tell of its tidying up. From here on only: the log is older than this run. */
const lastWords = (logFile: string, from: number): string | undefined => {
  const lines = readFileSync(logFile).subarray(from).toString('utf8').split('\n')
  const why = lines.findLast((line) => /^initdb: error:|FATAL:|PANIC:/.test(line)) ?? lines.findLast((line) => line.trim() !== '')
  return why?.trim().slice(0, 400)
}

/** Makes the data folder if there is none that is whole. */
export const initialise = async ({ dataDir, binDir, major, as, isDurable, logFile, log }: Request): Promise<void> => {
  sweep(dataDir)
  if (isComplete(dataDir)) return
  setAside(dataDir, log)
  log('initialising the database')
  const work = mkdtempSync(join(dirname(dataDir), unfinished(dataDir)))
  const passwords = newPasswords()
  const pwFile = join(work, 'password')
  writeFileSync(pwFile, passwords.superuser, { mode: 0o600 })
  mkdirSync(join(work, 'data'), { mode: 0o700 })
  if (as.uid !== undefined) for (const path of [work, pwFile, join(work, 'data')]) chownSync(path, as.uid, as.gid)

  const logBegins = sizeOf(logFile)
  const initdb = await keep(as, logFile, join(binDir, 'initdb'), [
    ...['-D', join(work, 'data'), '-U', 'postgres', `--pwfile=${pwFile}`, '--auth=scram-sha-256', '--encoding=UTF8', '--data-checksums'],
    ...localeArgs(major),
    ...(isDurable ? [] : ['--no-sync']),
  ])
  const code = await initdb.gone
  await initdb.end()
  if (code !== 0) {
    rmSync(work, { recursive: true, force: true, maxRetries: 5 })
    throw new StartRefused(
      `The database could not be initialised: ${lastWords(logFile, logBegins) ?? `initdb ended with ${code}`}. Its log is ${logFile}`,
    )
  }
  // Passwords first: a folder with its final name always has them.
  writePasswords(dataDir, passwords)
  renameSync(join(work, 'data'), dataDir)
  rmSync(work, { recursive: true, force: true })
}
