import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { StartRefused } from './start-refused.ts'

export type Passwords = { superuser: string; owner: string; app: string }

export const passwordsFileOf = (dataDir: string) => `${dataDir}.passwords.json`

export const newPasswords = (): Passwords => {
  const chance = () => randomBytes(24).toString('base64url')
  return { superuser: chance(), owner: chance(), app: chance() }
}

export const writePasswords = (dataDir: string, passwords: Passwords) => {
  const half = `${passwordsFileOf(dataDir)}.new`
  writeFileSync(half, JSON.stringify(passwords), { mode: 0o600 })
  renameSync(half, passwordsFileOf(dataDir))
}

export const readPasswords = (dataDir: string): Passwords => {
  try {
    return JSON.parse(readFileSync(passwordsFileOf(dataDir), 'utf8')) as Passwords
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    throw new StartRefused(
      `The database in ${dataDir} has lost its passwords (${passwordsFileOf(dataDir)}). Put that file back, or wipe the data with: npm run reset`,
    )
  }
}
