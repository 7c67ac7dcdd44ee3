import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readIfThere, writeAtomically } from '../atomic-file.ts'
import { HandsFailed } from '../hands.ts'
import type { Layout } from './layout.ts'
import { pamLines, sessionHook } from './session-hook.ts'
import { run } from './system.ts'

/** For managed accounts only. The first that says something about an account wins, so the file must come before all others. */
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

export const ensureFolders = async ({ keys_dir, sessions_dir, cgroup_dir }: Layout): Promise<void> => {
  await mkdir(keys_dir, { recursive: true, mode: 0o755 })
  await mkdir(sessions_dir, { recursive: true, mode: 0o700 })
  // Without control groups sessions are still told apart, by what their parents say.
  if (cgroup_dir !== null) await mkdir(cgroup_dir, { recursive: true }).catch(() => {})
}

/** What sshd itself says it would do for this account. */
const settingsFor = async ({ sshd }: Layout, username: string): Promise<Map<string, string>> => {
  const { code, stdout, stderr } = await run(sshd.program, [
    '-T',
    '-f',
    sshd.config,
    '-C',
    `user=${username},host=localhost,addr=127.0.0.1`,
  ])
  if (code !== 0) throw new HandsFailed('sshd_config_broken', new Error(stderr.slice(0, 200)))
  return new Map(
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
  )
}

/** For an account that exists: that sshd reads our file and no other, and lets PAM tell us of sessions. Asked of sshd, not of a file. */
export const requireSshd = async (layout: Layout, username: string): Promise<void> => {
  const settings = await settingsFor(layout, username)
  if (settings.get('usepam') !== 'yes') throw new HandsFailed('sshd_without_pam')
  const pam = await readFile(layout.sshd.pam, 'utf8').catch(() => '')
  if (!pam.includes(pamLines(layout))) throw new HandsFailed('pam_not_told')
  if ((await readIfThere(layout.hook)) !== sessionHook(layout)) throw new HandsFailed('hook_missing')
  // Before there is an account, no group makes it ours.
  if ((await run('/usr/bin/id', [username])).code !== 0) return
  if (settings.get('authorizedkeysfile') !== `${layout.keys_dir}/%u`) throw new HandsFailed('sshd_reads_other_keys')
  for (const name of ['authorizedkeyscommand', 'trustedusercakeys', 'authorizedprincipalscommand'])
    if ((settings.get(name) ?? 'none') !== 'none') throw new HandsFailed('sshd_reads_more_keys')
  if (settings.get('passwordauthentication') !== 'no') throw new HandsFailed('sshd_takes_passwords')
}

const reload = async ({ sshd }: Layout): Promise<void> => {
  const pid = Number(await readFile(sshd.pid_file, 'utf8').catch(() => ''))
  if (!Number.isInteger(pid) || pid <= 1) throw new Error(`sshd is not running: ${sshd.pid_file} names no process`)
  process.kill(pid, 'SIGHUP')
}

/** Puts hook, PAM lines and drop-in in place. What sshd would not take is taken back before anybody is told of it. */
export const prepareSshd = async (layout: Layout): Promise<void> => {
  const { sshd, hook } = layout
  await ensureFolders(layout)
  await mkdir(dirname(hook), { recursive: true, mode: 0o755 })
  await writeAtomically(hook, sessionHook(layout), 0o755)
  const pam = (await readFile(sshd.pam, 'utf8')).replace(/# gatehouse-agent: begin\n[\s\S]*?# gatehouse-agent: end\n/, '')
  await writeAtomically(sshd.pam, `${pam.replace(/\n*$/, '\n')}${pamLines(layout)}`, 0o644)
  const before = await readIfThere(sshd.drop_in)
  await writeAtomically(sshd.drop_in, dropIn(layout), 0o644)
  const { code, stderr } = await run(sshd.program, ['-t', '-f', sshd.config])
  if (code !== 0) {
    await writeAtomically(sshd.drop_in, before ?? '', 0o644)
    throw new Error(`sshd would not take its configuration, so it was left as it was: ${stderr.trim()}`)
  }
  await reload(layout)
}
