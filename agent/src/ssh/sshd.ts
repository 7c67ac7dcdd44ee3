import { chmod, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readIfThere, removeDurably, writeAtomically } from '../atomic-file.ts'
import { HandsFailed } from '../hands.ts'
import { ensureGroup } from './account.ts'
import { areUnitsThere } from './cgroup.ts'
import type { Layout } from './layout.ts'
import { faultOfHook, includedBeside, withHook } from './pam.ts'
import { isRootsSshd, processOf } from './processes.ts'
import { sessionHook } from './session-hook.ts'
import { isMatchedBefore } from './sshd-includes.ts'
import { run } from './system.ts'

/**
 * A name that no account has, for sshd to be asked about where there is no managed account yet: of somebody who is not there sshd knows no
 * groups. It is shorter than a managed account’s can be, so that it never becomes one.
 */
const nobody = 'gh-asked'

const settingsOf = ({ keys_dir }: Layout): string => `  AuthorizedKeysFile ${keys_dir}/%u
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
  AllowAgentForwarding no
  X11Forwarding no
  PermitTunnel no
`

/** For managed accounts only. Of several parts that speak of an account the first wins, so the file must come before all others. */
export const dropIn = (layout: Layout): string => `# Written by gatehouse-agent: how managed accounts log in. Others are not touched.
Match Group ${layout.group}
${settingsOf(layout)}# Nobody’s name. The agent asks sshd what it would do for it: the same as above, if this file is read and comes first.
Match User ${nobody}
${settingsOf(layout)}Match all
`

export const ensureFolders = async ({ keys_dir, sessions_dir }: Layout): Promise<void> => {
  // sshd finds a file by its name, as the account; which others there are is nobody's to list.
  await mkdir(keys_dir, { recursive: true, mode: 0o711 })
  if ((await modeOf(keys_dir)) === 0o755) await chmod(keys_dir, 0o711)
  await mkdir(sessions_dir, { recursive: true, mode: 0o700 })
}

/** What sshd itself says it would do for this account. */
const settingsFor = async ({ sshd }: Layout, username: string): Promise<Map<string, string>> => {
  const who = `user=${username},host=localhost,addr=127.0.0.1`
  const { code, stdout, stderr } = await run(sshd.program, ['-T', '-f', sshd.config, '-C', who])
  if (code !== 0) throw new HandsFailed('sshd_config_broken', new Error(stderr.trim().slice(0, 200)))
  const lines = stdout.split('\n').filter(Boolean)
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]))
}

const isHookInPlace = async (layout: Layout): Promise<boolean> => {
  const found = await stat(layout.hook).catch(() => undefined)
  if (found?.uid !== 0 || (found.mode & 0o022) !== 0 || (found.mode & 0o100) === 0) return false
  return (await readIfThere(layout.hook)) === sessionHook(layout)
}

/** That sshd lets PAM tell us of sessions. */
const requireHook = async (layout: Layout, settings: ReadonlyMap<string, string>): Promise<void> => {
  if (settings.get('usepam') !== 'yes') throw new HandsFailed('sshd_without_pam')
  const pam = await readFile(layout.sshd.pam, 'utf8').catch(() => '')
  const included = includedBeside(layout.sshd.pam)
  if (pam !== withHook(pam, layout, included)) throw new HandsFailed('pam_not_told')
  const fault = faultOfHook(pam, layout, included)
  if (fault) throw new HandsFailed(fault)
  if (!(await isHookInPlace(layout))) throw new HandsFailed('hook_missing')
}

const nothing_else = ['authorizedkeyscommand', 'trustedusercakeys', 'authorizedprincipalscommand']

const not_allowed = ['allowagentforwarding', 'x11forwarding', 'permittunnel']

const requireFirst = async ({ sshd: { config, drop_in } }: Layout): Promise<void> => {
  if (isMatchedBefore(config, drop_in)) throw new HandsFailed('sshd_reads_other_keys')
}

/** That sshd reads our file for this account and no other. Asked of sshd, not of a file. */
export const requireSshd = async (layout: Layout, username: string): Promise<void> => {
  const settings = await settingsFor(layout, username)
  await requireHook(layout, settings)
  if (settings.get('authorizedkeysfile') !== `${layout.keys_dir}/%u`) throw new HandsFailed('sshd_reads_other_keys')
  if (nothing_else.some((each) => (settings.get(each) ?? 'none') !== 'none')) throw new HandsFailed('sshd_reads_more_keys')
  await requireFirst(layout)
  // All share one account: whoever is in could log in with the keys of an agent that another brought along, under his name.
  if (not_allowed.some((each) => settings.get(each) !== 'no')) throw new HandsFailed('sshd_forwards_agents')
  if (settings.get('authenticationmethods') !== 'publickey') throw new HandsFailed('sshd_takes_more_than_keys')
}

/** The same where there is no account yet. */
export const requireReady = (layout: Layout): Promise<void> => requireSshd(layout, nobody)

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

interface Written {
  readonly path: string
  readonly text: string
  readonly mode: number
}

const modeOf = async (path: string): Promise<number | undefined> => {
  const found = await stat(path).catch(() => undefined)
  return found && found.mode & 0o7777
}

/** Writes them all, or leaves them all as they were. What is right already is not touched: it may lie where nothing can be written. */
const allOrNone = async (files: readonly Written[], judge: () => Promise<void>): Promise<void> => {
  const written: { path: string; text: string | undefined; mode: number | undefined }[] = []
  try {
    for (const { path, text, mode } of files) {
      const before = { path, text: await readIfThere(path), mode: await modeOf(path) }
      if (before.text === text && before.mode === mode) continue
      await writeAtomically(path, text, mode)
      written.push(before)
    }
    await judge()
  } catch (error) {
    for (const { path, text, mode } of written)
      await (text === undefined ? removeDurably(path) : writeAtomically(path, text, mode ?? 0o644))
    throw error
  }
}

const unplaced = {
  pam_trusts_users: 'or what it includes takes from users what programs of root are run with (user_readenv=1 before any session)',
  pam_moves_sessions: 'or what it includes lets users have their say (user_readenv=1) before sessions get a group',
}

/** Puts hook, PAM lines and drop-in in place. What sshd would not take, or not go by, is taken back before it is told. */
export const prepareSshd = async (layout: Layout): Promise<void> => {
  const { sshd, hook } = layout
  await requireTaken(layout, 'sshd does not take its configuration as it is, so nothing was changed')
  if (!(await areUnitsThere(layout)))
    throw new Error('units_missing: gatehouse.slice and gatehouse-account@.service are not installed; nothing was changed')
  const pam = await readFile(sshd.pam, 'utf8')
  const told = withHook(pam, layout, includedBeside(sshd.pam))
  const fault = faultOfHook(told, layout, includedBeside(sshd.pam))
  if (fault) throw new Error(`${fault}: ${sshd.pam} ${unplaced[fault]}; nothing was changed`)
  await mkdir(dirname(hook), { recursive: true, mode: 0o755 })
  const files = [
    { path: hook, text: sessionHook(layout), mode: 0o755 },
    { path: sshd.pam, text: told, mode: 0o644 },
    { path: sshd.drop_in, text: dropIn(layout), mode: 0o644 },
  ]
  await allOrNone(files, async () => {
    await requireTaken(layout, 'sshd would not take its configuration, so it was left as it was')
    await requireReady(layout)
    await ensureFolders(layout)
    await ensureGroup(layout)
  })
  await reload(layout)
}
