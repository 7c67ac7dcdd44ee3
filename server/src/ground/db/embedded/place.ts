import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { canEnter, runAsFor } from './run-as.ts'

export type Place = {
  stateDir: string
  dataDir: string
  /** True where the project lies under a folder that the unprivileged user may not enter. */
  elsewhere: boolean
}

export const dataDirOf = (stateDir: string) => join(stateDir, 'postgres')

/** Root's fallback: one folder per project path, outside of it. */
export const systemStateDir = (projectDir: string) =>
  join('/var/lib/gatehouse', createHash('sha256').update(realpathSync(projectDir)).digest('hex').slice(0, 12))

/** Where this project's data lives when this user starts it. Only root is ever sent elsewhere: anybody else's database runs as themselves. */
export const placeFor = (projectDir: string): Place => {
  const inside = join(realpathSync(projectDir), '.gatehouse')
  const outside = process.getuid?.() === 0 ? systemStateDir(projectDir) : inside
  // Data stays where it was first put, even after somebody opened the parent folder.
  const isOutside = existsSync(dataDirOf(outside)) && !existsSync(dataDirOf(inside))
  const elsewhere = outside !== inside && (isOutside || !canEnter(runAsFor(dataDirOf(inside)), projectDir))
  const stateDir = elsewhere ? outside : inside
  return { stateDir, dataDir: dataDirOf(stateDir), elsewhere }
}
