import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ownGroups } from '../../agent/src/ssh/cgroup.ts'
import type { Layout } from '../../agent/src/ssh/layout.ts'
import { freePort } from '../../server/src/ground/db/embedded/free-port.ts'

/** A hundred that no other test has. */
const numbersOfOurOwn = () => {
  const first_uid = 300_000 + randomInt(600_000) * 100
  return { first_uid, end_uid: first_uid + 100, second_uid: first_uid + 100 }
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const say = (is_heard: boolean) => {
      socket.destroy()
      resolve(is_heard)
    }
    socket.once('connect', () => say(true)).once('error', () => say(false))
  })

export interface PrivateSshd {
  readonly folder: string
  readonly layout: Layout
  readonly port: number
  readonly log: () => string
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * An sshd of a test's own: its port, its settings, its PAM file, its accounts' group. The machine's own is not touched. The PAM file is
 * called as the program was, so the program is started under a name of its own; it is a copy of the one that the system came with.
 * Nothing of it lies below a folder that everybody may write to: sshd would not read it.
 */
export const privateSshd = async (changed: Partial<Layout> = {}): Promise<PrivateSshd> => {
  const name = `ghtest-${randomBytes(4).toString('hex')}`
  const folder = mkdtempSync('/var/lib/gatehouse-test-')
  execFileSync('/usr/bin/chmod', ['0755', folder])
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  mkdirSync(join(folder, 'homes'), { mode: 0o755 })
  const program = join(folder, name)
  symlinkSync('/usr/sbin/sshd', program)
  const pam = `/etc/pam.d/${name}`
  copyFileSync('/etc/pam.d/sshd', pam)
  const [config, pid_file, host_key, log_file] = ['sshd_config', 'sshd.pid', 'host_key', 'sshd.log'].map((each) => join(folder, each)) as [
    string,
    string,
    string,
    string,
  ]
  execFileSync('/usr/bin/ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', host_key])
  const port = await freePort()
  const parent = await ownGroups()
  const layout: Layout = {
    keys_dir: join(folder, 'keys'),
    sessions_dir: join(folder, 'sessions'),
    cgroup_dir: parent && `${parent}-${name}`,
    hook: join(folder, 'hook'),
    homes_dir: join(folder, 'homes'),
    group: name,
    lock_file: join(folder, 'agent.lock'),
    deny_files: ['cron.deny', 'at.deny'].map((each) => join(folder, each)),
    sshd: { program, config, drop_in: join(folder, 'drop-in.conf'), pam, pid_file },
    devices: { own: [], shared: [] },
    ssh_host: null,
    ...numbersOfOurOwn(),
    ...changed,
  }
  const settings = [
    `Include ${layout.sshd.drop_in}`,
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${host_key}`,
    `PidFile ${pid_file}`,
    'UsePAM yes',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'MaxStartups 100',
    'LogLevel VERBOSE',
    'PrintMotd no',
  ]
  writeFileSync(config, `${settings.join('\n')}\n`)
  let child: ChildProcess | undefined

  const stopListening = async () => {
    if (child === undefined || child.exitCode !== null) return
    const gone = new Promise((resolve) => child!.once('exit', resolve))
    child.kill('SIGTERM')
    await gone
  }
  return {
    folder,
    layout,
    port,
    log: () => readFileSync(log_file, 'utf8'),
    start: async () => {
      const output = openSync(log_file, 'a')
      child = spawn(program, ['-D', '-e', '-f', config], { stdio: ['ignore', output, output] })
      for (let round = 0; round < 200 && !(await listens(port)); round += 1) await pause(50)
    },
    stop: async () => {
      await stopListening()
      removeAccounts(layout)
      rmSync(pam, { force: true })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What a test made and its agent did not take away. */
const removeAccounts = ({ homes_dir, cgroup_dir, group }: Layout): void => {
  const quietly = (program: string, args: readonly string[]) => {
    try {
      execFileSync(program, args, { stdio: 'ignore' })
    } catch {
      // Not there, or gone by itself.
    }
  }
  if (cgroup_dir !== null && existsSync(cgroup_dir)) {
    writeFileSync(join(cgroup_dir, 'cgroup.kill'), '1')
    for (let round = 0; round < 100 && readFileSync(join(cgroup_dir, 'cgroup.events'), 'utf8').includes('populated 1'); round += 1)
      execFileSync('/usr/bin/sleep', ['0.02'])
    execFileSync('/usr/bin/find', [cgroup_dir, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';'])
  }
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .filter((line) => line.split(':')[5]?.startsWith(`${homes_dir}/`))
  for (const line of accounts) {
    const [username, , uid] = line.split(':') as [string, string, string]
    quietly('/usr/bin/setpriv', ['--reuid', uid, '--regid', uid, '--clear-groups', '/usr/bin/kill', '-KILL', '--', '-1'])
    quietly('/usr/sbin/userdel', ['--force', '--remove', username])
  }
  quietly('/usr/sbin/groupdel', [group])
}
