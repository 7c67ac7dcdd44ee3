import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { NodePlace } from './node-place.ts'

type Layout = Awaited<ReturnType<NodePlace['node']>>['sshd']['layout']
/** Where its people log in, and where its files lie as this process sees them. */
export interface Machine {
  readonly sku: string
  readonly sshd: { readonly port: number; readonly layout: Pick<Layout, 'sessions_dir' | 'homes_dir'> }
}

export interface Weight {
  readonly accounts: number
  /** Of all its accounts together. */
  readonly sessions: number
  /** How many homes with many files are being removed at any time. */
  readonly releases: number
}

const files_each = 60_000
/** As many as sshd lets log in at once, and less than it begins to refuse at. */
const at_once = 20

const inChunks = async <T>(items: readonly T[], size: number, act: (item: T) => Promise<unknown>): Promise<void> => {
  for (let at = 0; at < items.length; at += size) await Promise.all(items.slice(at, at + size).map(act))
}

/** A tenant who has accounts, sessions and files in such numbers that others on the machine might wait for them. */
export const heavyTenant = async (place: NodePlace, { sku, sshd }: Machine, { accounts, sessions, releases }: Weight) => {
  const key = await place.pair('asha')
  const usernames: string[] = []
  await inChunks(Array.from({ length: accounts }), 5, async () => {
    usernames.push((await place.allocation('asha', sku, [key])).username)
  })
  console.log(`${usernames.length} accounts`)

  const clients: ChildProcess[] = []
  const logInAndStay = (username: string) => {
    const how = ['-F', 'none', '-N', '-p', `${sshd.port}`, '-i', key.file, '-o', 'IdentitiesOnly=yes', '-o', 'BatchMode=yes']
    const quiet = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR']
    clients.push(spawn('/usr/bin/ssh', [...how, ...quiet, `${username}@127.0.0.1`], { stdio: 'ignore' }))
  }
  const open = () => readdirSync(sshd.layout.sessions_dir).filter((name) => /^\d+\.\d+\.[0-9a-f]{8}$/.test(name)).length
  for (let count = 0; count < sessions; ) {
    const until = Math.min(sessions, count + at_once)
    for (; count < until; count += 1) logInAndStay(usernames[count % accounts]!)
    await place.until(`${count} sessions`, async () => open() >= count)
    if (count % 500 === 0) console.log(`${count} sessions`)
  }

  const removing: Promise<void>[] = []
  let is_over = false
  let released = 0
  /** An account with many files in its home. */
  const releaseOne = async (): Promise<void> => {
    const { id, username } = await place.allocation('asha', sku, [key])
    const home = join(sshd.layout.homes_dir, username)
    const fill = `mkdir "$1/a" && cd "$1/a" && seq 1000 | xargs touch && cd .. && for n in $(seq ${files_each / 1000 - 1}); do cp -al a "b$n"; done`
    await promisify(execFile)('/usr/bin/nice', ['-n', '10', 'bash', '-c', fill, '-', home])
    await place.done(202, 'asha', 'POST', `/api/v1/allocations/${id}/release`, { body: {} })
    await place.untilState(id, 'released')
    released += 1
  }
  /** Again and again, for as long as it is measured. */
  const releaseOn = async (): Promise<void> => {
    while (!is_over)
      // A connection that the busy server closed under us is no reason to become lighter.
      await releaseOne().catch((error: unknown) => console.log(`a release is begun again: ${error}`))
  }
  for (let count = 0; count < releases; count += 1) removing.push(releaseOn())
  await pause(1000)
  return {
    /** That it is still as heavy as it was to be. */
    goOn: () => {
      const gone = clients.filter(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null).length
      if (gone > 0) throw new Error(`${gone} of the sessions of the heavy tenant have ended`)
    },
    end: async () => {
      is_over = true
      await Promise.all(removing)
      console.log(`${released} homes of ${files_each} files each were removed meanwhile`)
      for (const each of clients) each.kill()
    },
  }
}
