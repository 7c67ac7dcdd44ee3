import { lstat, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { writeAtomically } from '../atomic-file.ts'
import { HandsFailed } from '../hands.ts'
import { type Layout, requireUsername } from './layout.ts'
import { allProcesses } from './processes.ts'
import { must, type Ran, run } from './system.ts'

export interface Account {
  readonly username: string
  readonly uid: number
  readonly home: string
  /** Whose it is, as we wrote it into the system's own list. */
  readonly allocation_id: string | null
}

const ofAllocation = /^gatehouse allocation ([0-9a-f-]{36})$/

export const findAccount = async (username: string): Promise<Account | undefined> => {
  const { code, stdout } = await run('/usr/bin/getent', ['passwd', requireUsername(username)])
  if (code === 2) return undefined
  if (code !== 0) throw new HandsFailed('accounts_not_read')
  const [name, , uid, , comment, home] = stdout.trimEnd().split(':')
  if (name !== username) return undefined
  return { username, uid: Number(uid), home: home!, allocation_id: ofAllocation.exec(comment ?? '')?.[1] ?? null }
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
const alone = <T>(act: () => Promise<T>): Promise<T> => {
  const done = changing.then(act, act)
  changing = done.catch(() => {})
  return done
}

/** Somebody else may be at the same list, and holds it for moments. */
const change = async (failure: string, program: string, args: readonly string[]): Promise<void> => {
  let ran: Ran | undefined
  for (let round = 0; round < 20; round += 1) {
    ran = await run(program, args)
    if (ran.code === 0) return
    if (!/cannot lock|try again later/.test(ran.stderr)) break
    await pause(100)
  }
  throw new HandsFailed(failure, new Error(`${program} ended with ${ran!.code}: ${ran!.stderr.trim().slice(0, 200)}`))
}

/** The next number that no account has had: kept beside the keys, so that it outlives every account. */
const nextUid = async ({ keys_dir, first_uid }: Layout): Promise<number> => {
  const path = join(keys_dir, '.next-uid')
  const kept = Number(await readFile(path, 'utf8').catch(() => ''))
  let uid = Number.isInteger(kept) && kept >= first_uid ? kept : first_uid
  while ((await run('/usr/bin/getent', ['passwd', `${uid}`])).code === 0) uid += 1
  await writeAtomically(path, `${uid + 1}\n`)
  return uid
}

export const ensureGroup = async ({ group }: Layout): Promise<void> => {
  if ((await run('/usr/bin/getent', ['group', group])).code !== 0)
    await alone(() => change('group_not_made', '/usr/sbin/groupadd', ['--system', '--force', group]))
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
    const uid = await nextUid(layout)
    await change('account_not_made', '/usr/sbin/useradd', [
      ...['--uid', `${uid}`, '--user-group', '--groups', layout.group, '--create-home', '--home-dir', home, '--key', 'HOME_MODE=0700'],
      ...['--shell', '/bin/bash', '--comment', `gatehouse allocation ${allocation_id}`, '--password', '*', username],
    ])
    return { username, uid, home, allocation_id }
  })
}

/** All that runs as the account, whoever started it. */
const endProcessesOf = async ({ first_uid }: Layout, uid: number): Promise<void> => {
  // Sent by the account itself to all that is its own: none of it can start another meanwhile. Never by a number that is not of ours.
  if (!(uid >= first_uid && first_uid >= 1000)) throw new HandsFailed('not_a_managed_account')
  for (let round = 0; round < 100; round += 1) {
    if (!(await allProcesses()).some((each) => each.uid === uid)) return
    await run('/usr/bin/kill', ['-KILL', '--', '-1'], { uid, gid: uid })
    await pause(20)
  }
  throw new HandsFailed('processes_not_ended')
}

/** Not by walking there ourselves: whoever may write in it could put a link in our way. */
const removeTree = (path: string) => must('files_not_removed', '/usr/bin/rm', ['-rf', '--one-file-system', '--', path])

/** Where everybody may write, an account leaves things behind. */
const shared = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/var/mail', '/var/spool/cron/atjobs']
const removeLeftovers = async (uid: number): Promise<void> => {
  for (const folder of shared)
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name)
      const owner = await lstat(path).then(
        (found) => found.uid,
        () => undefined,
      )
      if (owner === uid) await removeTree(path)
    }
}

/** Its time plans, and its leave to run while nobody is logged in, would start it again. */
const removePlans = async (username: string): Promise<void> => {
  for (const folder of ['/var/spool/cron/crontabs', '/var/spool/cron', '/var/lib/systemd/linger'])
    await rm(join(folder, username), { force: true }).catch(() => {})
}

/** After this nothing of it runs, and nobody has its name, its number or its home. */
export const removeAccount = async (layout: Layout, { username, uid, home }: Account): Promise<void> => {
  // Locked before the processes end: none can begin through another door meanwhile.
  await alone(() => change('account_not_locked', '/usr/sbin/usermod', ['--expiredate', '1', '--shell', '/usr/sbin/nologin', username]))
  await removePlans(username)
  await endProcessesOf(layout, uid)
  // A plan may have been made by what ran until now.
  await removePlans(username)
  // Before the name is gone: a crash in between must find its way back here. The account's own word for its home is not taken.
  if (home === join(layout.homes_dir, username)) await removeTree(home)
  await removeLeftovers(uid)
  await alone(() => change('account_not_removed', '/usr/sbin/userdel', [username]))
}
