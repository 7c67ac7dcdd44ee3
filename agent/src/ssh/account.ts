import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { writeAtomically } from '../atomic-file.ts'
import { HandsFailed } from '../hands.ts'
import { isUsername, type Layout, requireUsername } from './layout.ts'
import { type Ran, run } from './system.ts'

export interface Account {
  readonly username: string
  readonly uid: number
  readonly gid: number
  readonly home: string
  /** Whose it is, as we wrote it into the system's own list. */
  readonly allocation_id: string | null
}

const ofAllocation = /^gatehouse allocation ([0-9a-f-]{36})$/

const accountIn = (line: string): Account => {
  const [username, , uid, gid, comment, home] = line.split(':')
  const allocation_id = ofAllocation.exec(comment ?? '')?.[1] ?? null
  return { username: username!, uid: Number(uid), gid: Number(gid), home: home!, allocation_id }
}

export const findAccount = async (username: string): Promise<Account | undefined> => {
  // Without a process of its own: an account that uses them all up must not keep us from ending what it runs.
  const line = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .find((each) => each.startsWith(`${requireUsername(username)}:`))
  if (line !== undefined) return accountIn(line)
  const { code, stdout } = await run('/usr/bin/getent', ['passwd', requireUsername(username)])
  if (code === 2) return undefined
  if (code !== 0) throw new HandsFailed('accounts_not_read')
  const found = accountIn(stdout.trimEnd())
  return found.username === username ? found : undefined
}

/** All that we made, whoever asked for them, and that sshd goes by our files for. */
export const managedAccounts = async ({ group }: Layout): Promise<Account[]> => {
  const [members, accounts] = await Promise.all([run('/usr/bin/getent', ['group', group]), run('/usr/bin/getent', ['passwd'])])
  if (members.code !== 0 || accounts.code !== 0) throw new HandsFailed('accounts_not_read')
  const names = new Set(members.stdout.trimEnd().split(':')[3]?.split(','))
  return accounts.stdout
    .split('\n')
    .filter(Boolean)
    .map(accountIn)
    .filter(({ username, allocation_id }) => allocation_id !== null && names.has(username) && isUsername(username))
}

/** One of this name that is not this allocation's is not ours to touch. */
const requireOurs = (account: Account, allocation_id: string): Account => {
  if (account.allocation_id !== allocation_id) throw new HandsFailed('username_taken')
  return account
}

export const findOurs = async (username: string, allocation_id: string): Promise<Account | undefined> => {
  const found = await findAccount(username)
  return found && requireOurs(found, allocation_id)
}

/** The list of accounts is changed by one at a time: two that are made at once must not get the same number. */
let changing: Promise<unknown> = Promise.resolve()
export const alone = <T>(act: () => Promise<T>): Promise<T> => {
  const done = changing.then(act, act)
  changing = done.catch(() => {})
  return done
}

/** Somebody else may be at the same list, and holds it for moments. */
export const change = async (failure: string, program: string, args: readonly string[]): Promise<void> => {
  let ran: Ran | undefined
  for (let round = 0; round < 20; round += 1) {
    ran = await run(program, args)
    if (ran.code === 0) return
    if (!/cannot lock|try again later/.test(ran.stderr)) break
    await pause(100)
  }
  throw new HandsFailed(failure, new Error(`${program} ended with ${ran!.code}: ${ran!.stderr.trim().slice(0, 200)}`))
}

/** Which numbers the system lets accounts use within their containers. */
const lentNumbers = async (list: string): Promise<{ readonly first: number; readonly after: number }[]> =>
  [...(await readFile(list, 'utf8').catch(() => '')).matchAll(/^[^:\n]+:(\d+):(\d+)$/gm)].map(([, first, count]) => ({
    first: Number(first),
    after: Number(first) + Number(count),
  }))

/** The next number that no account and no account's group has had: kept beside the keys, so that it outlives every account. */
const nextUid = async ({ keys_dir, first_uid, end_uid, second_uid }: Layout): Promise<number> => {
  const path = join(keys_dir, '.next-uid')
  const kept = Number(await readFile(path, 'utf8').catch(() => ''))
  let uid = Number.isInteger(kept) && kept >= first_uid ? kept : first_uid
  const isTaken = async (list: string) => (await run('/usr/bin/getent', [list, `${uid}`])).code === 0
  // What is one account's within its containers must not be another's outside of them.
  const lent = [...(await lentNumbers('/etc/subuid')), ...(await lentNumbers('/etc/subgid'))]
  for (let from: number | undefined = uid; from !== undefined; ) {
    uid = from >= end_uid && from < second_uid ? second_uid : from
    const range = lent.find(({ first, after }) => uid >= first && uid < after)
    from = range?.after ?? ((await isTaken('passwd')) || (await isTaken('group')) ? uid + 1 : undefined)
  }
  await writeAtomically(path, `${uid + 1}\n`)
  return uid
}

export const ensureGroup = async ({ group }: Layout): Promise<void> => {
  if ((await run('/usr/bin/getent', ['group', group])).code !== 0)
    await alone(() => change('group_not_made', '/usr/sbin/groupadd', ['--system', '--force', group]))
}

/** An account's own group, where a crash has left it without its account, or the system does not take it away by itself. */
export const removeGroup = async ({ first_uid }: Layout, username: string): Promise<void> => {
  const { code, stdout } = await run('/usr/bin/getent', ['group', username])
  if (code !== 0) return
  if (!(Number(stdout.split(':')[2]) >= first_uid)) throw new HandsFailed('username_taken')
  await change('group_not_removed', '/usr/sbin/groupdel', [username])
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )

/** Nobody can log in to it yet: it has no password, and keys come by themselves. */
export const ensureAccount = async (layout: Layout, username: string, allocation_id: string): Promise<Account> => {
  const found = await findOurs(username, allocation_id)
  if (found) return found
  const home = join(layout.homes_dir, requireUsername(username))
  // A home that somebody else left there would be given away with all that is in it.
  if (await isThere(home)) throw new HandsFailed('home_taken')
  return alone(async () => {
    await removeGroup(layout, username)
    const uid = await nextUid(layout)
    // The same number for both: the system would give that of a group again as soon as it is free.
    await change('account_not_made', '/usr/sbin/groupadd', ['--gid', `${uid}`, username])
    await change('account_not_made', '/usr/sbin/useradd', [
      // A list by number would become as long as the number.
      '--no-log-init',
      ...['--uid', `${uid}`, '--gid', `${uid}`, '--groups', layout.group, '--create-home', '--home-dir', home, '--key', 'HOME_MODE=0700'],
      ...['--shell', '/bin/bash', '--comment', `gatehouse allocation ${allocation_id}`, '--password', '*', username],
    ])
    return { username, uid, gid: uid, home, allocation_id }
  })
}
