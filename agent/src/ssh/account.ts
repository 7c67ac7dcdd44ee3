import { lstat, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { writeAtomically } from '../atomic-file.ts'
import { HandsFailed } from '../hands.ts'
import { type Layout, requireUsername } from './layout.ts'
import { allProcesses, endProcess } from './processes.ts'
import { must, run } from './system.ts'

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
  if (code !== 0) return undefined
  const [name, , uid, , comment, home] = stdout.trimEnd().split(':')
  if (name !== username) return undefined
  return { username, uid: Number(uid), home: home!, allocation_id: ofAllocation.exec(comment ?? '')?.[1] ?? null }
}

/** One of this name that is not this allocation's is not ours to touch. */
const requireOurs = (account: Account, allocation_id: string): Account => {
  if (account.allocation_id !== allocation_id) throw new HandsFailed('username_taken')
  return account
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

/** Numbers are given one after the other: two accounts that are made at once must not get the same. */
let numbering: Promise<unknown> = Promise.resolve()
const alone = <T>(act: () => Promise<T>): Promise<T> => {
  const done = numbering.then(act, act)
  numbering = done.catch(() => {})
  return done
}

export const ensureGroup = async ({ group }: Layout): Promise<void> => {
  if ((await run('/usr/bin/getent', ['group', group])).code !== 0) await must('group_not_made', '/usr/sbin/groupadd', ['--system', group])
}

/** Nobody can log in to it yet: it has no password, and keys come by themselves. */
export const ensureAccount = async (layout: Layout, username: string, allocation_id: string): Promise<Account> => {
  const found = await findAccount(username)
  if (found) return requireOurs(found, allocation_id)
  const home = join(layout.homes_dir, requireUsername(username))
  // A home that somebody else left there would be given away with all that is in it.
  if (
    await lstat(home).then(
      () => true,
      () => false,
    )
  )
    throw new HandsFailed('home_taken')
  return alone(async () => {
    const uid = await nextUid(layout)
    await must('account_not_made', '/usr/sbin/useradd', [
      ...['--uid', `${uid}`, '--user-group', '--groups', layout.group, '--create-home', '--home-dir', home],
      ...['--shell', '/bin/bash', '--comment', `gatehouse allocation ${allocation_id}`, '--password', '*', username],
    ])
    await must('home_not_closed', '/usr/bin/chmod', ['0700', home])
    return { username, uid, home, allocation_id }
  })
}

/** All that runs as the account, whoever started it. */
export const endProcessesOf = async (uid: number): Promise<number> => {
  const ended = new Set<number>()
  for (let round = 0; round < 100; round += 1) {
    const running = (await allProcesses()).filter((each) => each.uid === uid)
    if (running.length === 0) return ended.size
    for (const { pid } of running) {
      ended.add(pid)
      endProcess(pid)
    }
    await pause(20)
  }
  throw new HandsFailed('processes_not_ended')
}

/** Where everybody may write, an account leaves things behind. */
const removeLeftovers = async (uid: number): Promise<void> => {
  for (const folder of ['/tmp', '/var/tmp', '/dev/shm'])
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name)
      const owner = await lstat(path).then(
        (found) => found.uid,
        () => undefined,
      )
      if (owner === uid) await rm(path, { recursive: true, force: true })
    }
}

/** Its time plans would start it again. */
const removePlans = async (username: string): Promise<void> => {
  for (const folder of ['/var/spool/cron/crontabs', '/var/spool/cron']) await rm(join(folder, username), { force: true }).catch(() => {})
}

/** After this nothing of it runs, and nobody has its name, its number or its home. */
export const removeAccount = async (layout: Layout, username: string, allocation_id: string): Promise<number> => {
  const found = await findAccount(username)
  if (!found) return 0
  const { uid, home } = requireOurs(found, allocation_id)
  await removePlans(username)
  // Locked before the processes end: none can begin through another door meanwhile.
  await must('account_not_locked', '/usr/sbin/usermod', ['--expiredate', '1', '--shell', '/usr/sbin/nologin', username])
  const ended = await endProcessesOf(uid)
  await must('account_not_removed', '/usr/sbin/userdel', [username])
  // The account's own word for its home is not taken: only the place where we made it is emptied.
  if (home === join(layout.homes_dir, username)) await rm(home, { recursive: true, force: true })
  await removeLeftovers(uid)
  return ended
}
