import { existsSync } from 'node:fs'

/** What a machine may have or lack. `npm test` looks and never installs; `npm run setup:system` installs. */
export const parts = {
  postgres15: { path: '/usr/lib/postgresql/15/bin/postgres', serves: "the database tests on Debian's PostgreSQL 15" },
  vectors: { path: '../shared/vectors/naughty_strings.json', serves: 'hostile strings that were collected elsewhere' },
  ssh: { path: '/usr/bin/ssh-keygen', serves: 'keys as people make them' },
  // Accounts are made by root alone, so to anybody else it is not there.
  sshd: { path: '/usr/sbin/sshd', serves: 'logging in to accounts of a node', is_roots: true },
  nginx: { path: '/usr/sbin/nginx', serves: 'addresses that nginx forwards' },
  haproxy: { path: '/usr/sbin/haproxy', serves: 'addresses that HAProxy forwards' },
  chromium: { path: '/usr/bin/chromium', serves: 'the browser tests' },
} as const

export type Part = keyof typeof parts

export const partNames = Object.keys(parts) as Part[]

export const isPart = (name: string): name is Part => Object.hasOwn(parts, name)

export const hasPart = (name: Part): boolean => {
  const part: { path: string; is_roots?: boolean } = parts[name]
  return existsSync(part.path) && (!part.is_roots || process.getuid?.() === 0)
}
