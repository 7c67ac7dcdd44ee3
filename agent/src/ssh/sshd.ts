import { chmod, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readIfThere, removeDurably, writeAtomically } from '../atomic-file.ts'
import { HandsFailed } from '../hands.ts'
import { ensureGroup } from './account.ts'
import type { Layout } from './layout.ts'
import { trustsUsersBefore, withHook } from './pam.ts'
import { isRootsSshd, processOf } from './processes.ts'
import { sessionHook } from './session-hook.ts'
import { run } from './system.ts'

/** For managed accounts only. Of several parts that speak of an account the first wins, so the file must come before all others. */
export const dropIn = ({
  group,
  keys_dir,
}: Layout): string => `# Written by gatehouse-agent: how managed accounts log in. Others are not touched.
Match Group ${group}
  AuthorizedKeysFile ${keys_dir}/%u
  AuthorizedKeysCommand none
  AuthorizedPrincipalsFile none
  AuthorizedPrincipalsCommand none
  TrustedUserCAKeys none
  AuthenticationMethods publickey
  PubkeyAuthentication yes
  PasswordAuthentication no
  KbdInteractiveAuthentication no
  HostbasedAuthentication no
  GSSAPIAuthentication no
  PermitUserRC no
Match all
`

export const ensureFolders = async ({ keys_dir, sessions_dir }: Layout): Promise<void> => {
  await mkdir(keys_dir, { recursive: true, mode: 0o755 })
  await mkdir(sessions_dir, { recursive: true, mode: 0o700 })
}

/** What sshd itself says it would do for this account. */
const settingsFor = async ({ sshd }: Layout, username: string): Promise<Map<string, string>> => {
  const who = `user=${username},host=localhost,addr=127.0.0.1`
  const { code, stdout, stderr } = await run(sshd.program, ['-T', '-f', sshd.config, '-C', who])
  if (code !== 0) throw new HandsFailed('sshd_config_broken', new Error(stderr.slice(0, 200)))
  const lines = stdout.split('\n').filter(Boolean)
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]))
}

const isHookInPlace = async (layout: Layout): Promise<boolean> => {
  const found = await stat(layout.hook).catch(() => undefined)
  if (found?.uid !== 0 || (found.mode & 0o022) !== 0 || (found.mode & 0o100) === 0) return false
  return (await readIfThere(layout.hook)) === sessionHook(layout)
}

/** That sshd lets PAM tell us of sessions. */
export const requireHook = async (layout: Layout, settings: ReadonlyMap<string, string>): Promise<void> => {
  if (settings.get('usepam') !== 'yes') throw new HandsFailed('sshd_without_pam')
  const pam = await readFile(layout.sshd.pam, 'utf8').catch(() => '')
  if (pam !== withHook(pam, layout)) throw new HandsFailed('pam_not_told')
  if (trustsUsersBefore(pam)) throw new HandsFailed('pam_trusts_users')
  if (!(await isHookInPlace(layout))) throw new HandsFailed('hook_missing')
}

const nothing_else = ['authorizedkeyscommand', 'trustedusercakeys', 'authorizedprincipalscommand']

/** For an account that exists: that sshd reads our file and no other. Asked of sshd, not of a file. */
export const requireSshd = async (layout: Layout, username: string): Promise<void> => {
  const settings = await settingsFor(layout, username)
  await requireHook(layout, settings)
  if (settings.get('authorizedkeysfile') !== `${layout.keys_dir}/%u`) throw new HandsFailed('sshd_reads_other_keys')
  if (nothing_else.some((each) => (settings.get(each) ?? 'none') !== 'none')) throw new HandsFailed('sshd_reads_more_keys')
  if (settings.get('authenticationmethods') !== 'publickey') throw new HandsFailed('sshd_takes_more_than_keys')
}

/** What can be said without an account: which one is ours, sshd goes by its group. */
export const requireReady = async (layout: Layout): Promise<void> => requireHook(layout, await settingsFor(layout, 'root'))

/** Where none listens there is nobody to tell: it reads its settings when it starts. */
const reload = async ({ sshd }: Layout): Promise<void> => {
  const pid = Number(await readFile(sshd.pid_file, 'utf8').catch(() => ''))
  const found = Number.isInteger(pid) && pid > 1 ? await processOf(pid) : undefined
  if (found && (await isRootsSshd(found))) process.kill(pid, 'SIGHUP')
}

const requireTaken = async ({ sshd }: Layout, sentence: string): Promise<void> => {
  const { code, stderr } = await run(sshd.program, ['-t', '-f', sshd.config])
  if (code !== 0) throw new Error(`${sentence}: ${stderr.trim().slice(0, 500)}`)
}

/** Writes them all, or leaves them all as they were. */
const allOrNone = async (files: readonly { path: string; text: string; mode: number }[], judge: () => Promise<void>): Promise<void> => {
  const before = await Promise.all(
    files.map(async ({ path }) => ({ path, text: await readIfThere(path), mode: (await stat(path).catch(() => undefined))?.mode })),
  )
  try {
    for (const { path, text, mode } of files) {
      await writeAtomically(path, text, mode)
      await chmod(path, mode)
    }
    await judge()
  } catch (error) {
    for (const { path, text, mode } of before)
      await (text === undefined ? removeDurably(path) : writeAtomically(path, text, (mode ?? 0o644) & 0o7777))
    throw error
  }
}

/** Puts hook, PAM lines and drop-in in place. What sshd would not take is taken back before it is told. */
export const prepareSshd = async (layout: Layout): Promise<void> => {
  const { sshd, hook } = layout
  await requireTaken(layout, 'sshd does not take its configuration as it is, so nothing was changed')
  const pam = await readFile(sshd.pam, 'utf8')
  if (trustsUsersBefore(withHook(pam, layout)))
    throw new Error(
      `${sshd.pam} takes from users what programs of root are run with (user_readenv=1 before any session); nothing was changed`,
    )
  await ensureFolders(layout)
  await ensureGroup(layout)
  await mkdir(dirname(hook), { recursive: true, mode: 0o755 })
  const files = [
    { path: hook, text: sessionHook(layout), mode: 0o755 },
    { path: sshd.pam, text: withHook(pam, layout), mode: 0o644 },
    { path: sshd.drop_in, text: dropIn(layout), mode: 0o644 },
  ]
  await allOrNone(files, () => requireTaken(layout, 'sshd would not take its configuration, so it was left as it was'))
  await reload(layout)
}
