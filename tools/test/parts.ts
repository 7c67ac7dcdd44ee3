import { existsSync } from 'node:fs'

/** The security key without hardware that OpenSSH's own tests use. */
const skDummy = '/usr/lib/openssh/regress/misc/sk-dummy/sk-dummy.so'

/** What a machine may have or lack. `npm test` looks and never installs; `npm run setup:system` installs. */
export const parts = {
  postgres15: { path: '/usr/lib/postgresql/15/bin/postgres', serves: "the database tests on Debian's PostgreSQL 15" },
  vectors: { path: '../shared/vectors/naughty_strings.json', serves: 'hostile strings that were collected elsewhere' },
  ssh: { path: '/usr/bin/ssh-keygen', serves: 'keys as people make them' },
  // Accounts are made by root alone, so to anybody else it is not there.
  sshd: { path: '/usr/sbin/sshd', serves: 'logging in to accounts of a node', is_roots: true },
  // The throw-away machine needs all of these; mounting it and making its accounts needs root.
  systemd: {
    path: '/usr/lib/systemd/systemd',
    also: ['/usr/sbin/sshd', '/usr/bin/dbus-daemon', '/usr/sbin/cron', '/usr/sbin/atd', '/usr/bin/faketime', '/usr/bin/sshfs', skDummy],
    serves: 'the shipped unit and agent under a real systemd',
    is_roots: true,
  },
  nginx: { path: '/usr/sbin/nginx', serves: 'addresses that nginx forwards' },
  haproxy: { path: '/usr/sbin/haproxy', serves: 'addresses that HAProxy forwards' },
  chromium: { path: '/usr/bin/chromium', serves: 'the browser tests' },
} as const

export type Part = keyof typeof parts

export const partNames = Object.keys(parts) as Part[]

export const isPart = (name: string): name is Part => Object.hasOwn(parts, name)

export const hasPart = (name: Part): boolean => {
  const part: { path: string; also?: readonly string[]; is_roots?: boolean } = parts[name]
  return [part.path, ...(part.also ?? [])].every((path) => existsSync(path)) && (!part.is_roots || process.getuid?.() === 0)
}
