import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Lock, lockHolder, takeLock } from '@gatehouse/server/ground/db/embedded/lock'
import { dataDirOf, type Place, placeFor, systemStateDir } from '@gatehouse/server/ground/db/embedded/place'
import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'

export const project = join(import.meta.dirname, '../..')

export const chosenPlace = (stateDir: string | undefined): Place =>
  stateDir ? { stateDir, dataDir: dataDirOf(stateDir), elsewhere: false } : placeFor(project)

/** Both folders that a start from here may ever have used: root's data lies elsewhere when nobody may enter the project. */
export const everyStateDir = (stateDir: string | undefined): string[] =>
  stateDir ? [stateDir] : [join(project, '.gatehouse'), systemStateDir(project)]

// Step by step: Node's own recursive way never comes back where the file system answers "no such folder" to making one (/proc).
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  mkdirSync(folder)
  // Passable whatever the umask: the database may run as another user. What is secret inside has a mode of its own.
  chmodSync(folder, 0o711)
}

/** Makes the folder and holds it, so that two worlds never share one. */
export const enterState = async (stateDir: string): Promise<Lock> => {
  makeFolder(stateDir)
  const lock = await takeLock(join(stateDir, 'world'))
  if (lock) return lock
  const holder = await lockHolder(join(stateDir, 'world'))
  throw new StartRefused(
    `Gatehouse is already running from this folder (process ${holder ?? 'unknown'}). Stop that one first, with Ctrl-C in its terminal.`,
  )
}

/** Written aside under a name that nobody can foresee, and renamed: whole or not at all, and never through a link that somebody left there. */
const keepSecretly = (path: string, text: string): void => {
  const aside = `${path}.new-${randomBytes(8).toString('hex')}`
  writeFileSync(aside, text, { mode: 0o600, flag: 'wx' })
  renameSync(aside, path)
}

/** Made once: with another key, nothing that was sealed before would open. Production refuses it by its name. */
export const keyEncryptionKeys = (stateDir: string): string => {
  const path = join(stateDir, 'key-encryption-keys')
  if (!existsSync(path)) keepSecretly(path, `local:development-${randomBytes(32).toString('base64url')}`)
  return readFileSync(path, 'utf8')
}

/** What the server was started with, so that a command can be run beside it. */
const environmentFile = (stateDir: string) => join(stateDir, 'server-environment.json')
export const keepEnvironment = (stateDir: string, environment: Record<string, string>): void => {
  keepSecretly(environmentFile(stateDir), JSON.stringify(environment))
}
export const keptEnvironment = (stateDir: string): Record<string, string> | undefined =>
  existsSync(environmentFile(stateDir)) ? JSON.parse(readFileSync(environmentFile(stateDir), 'utf8')) : undefined

const isOurs = (name: string) =>
  /^(postgres([.-].*)?|idp|idp\.log.*|server\.log.*|(key-encryption-keys|server-environment\.json)(\.new-[0-9a-f]+)?|checkpoints\.jsonl)$/.test(
    name,
  )

/** Removes what a world keeps, and the folder if nothing else is in it: a mistyped folder name must not cost somebody their files. */
export const wipeState = (stateDir: string): boolean => {
  if (!existsSync(stateDir)) return false
  const ours = readdirSync(stateDir).filter(isOurs)
  for (const name of ours) rmSync(join(stateDir, name), { recursive: true, force: true, maxRetries: 3 })
  if (readdirSync(stateDir).length === 0) rmdirSync(stateDir)
  return ours.length > 0
}
