import { lstat, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { writeAtomically } from '../atomic-file.ts'
import type { Account } from './account.ts'
import type { Layout } from './layout.ts'

const plan_folders = [
  { kind: 'cron', folder: '/var/spool/cron/crontabs' },
  { kind: 'cron', folder: '/var/spool/cron' },
  { kind: 'linger', folder: '/var/lib/systemd/linger' },
] as const
const job_folders = ['/var/spool/cron/atjobs', '/var/spool/at']

/** What would run as an account without anybody coming in. */
export interface Plan {
  readonly kind: 'cron' | 'at' | 'linger'
  readonly path: string
}

type Who = Pick<Account, 'username' | 'uid'>

/** The user's own systemd, which would run what nobody came in for. */
const managerOf = (uid: number): string => `/etc/systemd/system/user@${uid}.service`

const linesOf = async (path: string): Promise<string[]> => (await readFile(path, 'utf8').catch(() => '')).split('\n').filter(Boolean)

/** One at a time: the files are everybody's. */
let writing: Promise<unknown> = Promise.resolve()
const changeLines = (path: string, changed: (lines: readonly string[]) => readonly string[]): Promise<void> => {
  const done = writing.then(async () => {
    const [before, found] = [await linesOf(path), await lstat(path).catch(() => undefined)]
    const after = changed(before)
    if (after.join('\n') === before.join('\n')) return
    // at's list is for its own group to read.
    await writeAtomically(path, after.map((line) => `${line}\n`).join(''), found ? found.mode & 0o777 : 0o644, found?.gid)
  })
  writing = done.catch(() => {})
  return done
}

/** cron, at and a systemd of its own are refused to it from the start: what runs without a session would end with none. */
export const preventPlans = async ({ deny_files }: Layout, { username, uid }: Who): Promise<void> => {
  for (const path of deny_files) await changeLines(path, (lines) => (lines.includes(username) ? lines : [...lines, username]))
  await symlink('/dev/null', managerOf(uid)).catch((error: NodeJS.ErrnoException) => {
    // Where there is no systemd there is none to keep from starting.
    if (error.code !== 'EEXIST' && error.code !== 'ENOENT') throw error
  })
}

/** When nothing can run as it any more. */
export const forgetPrevention = async ({ deny_files }: Layout, { username, uid }: Who): Promise<void> => {
  for (const path of deny_files) await changeLines(path, (lines) => lines.filter((line) => line !== username))
  await rm(managerOf(uid), { force: true })
}

/** What is planned for the account: by its name, and jobs by whose they are. */
export const plansOf = async ({ username, uid }: Who): Promise<Plan[]> => {
  const named = plan_folders.map(({ kind, folder }): Plan & { is_job: boolean } => ({ kind, path: join(folder, username), is_job: false }))
  const jobs = await Promise.all(
    job_folders.map(async (folder) =>
      (await readdir(folder).catch(() => [])).map((name): Plan & { is_job: boolean } => ({
        kind: 'at',
        path: join(folder, name),
        is_job: true,
      })),
    ),
  )
  const all = [...named, ...jobs.flat()]
  const found = await Promise.all(all.map(({ path }) => lstat(path).catch(() => undefined)))
  return all.filter(({ is_job }, index) => found[index] !== undefined && (!is_job || found[index].uid === uid))
}

/** Its time plans, and its leave to run while nobody is logged in, would start it again. Returns which there were. */
export const removePlans = async (who: Who): Promise<Plan[]> => {
  const found = await plansOf(who)
  for (const { path } of found) await rm(path, { force: true }).catch(() => {})
  return found
}
