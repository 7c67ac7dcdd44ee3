import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../server/src/ground/db/embedded/free-port.ts'

const here = import.meta.dirname

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly input?: string
  readonly timeout_ms?: number
}

const mounts = (): string[][] =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))

/** Where this machine has its cgroup2 hierarchy: some have it beside the older ones. */
const cgroupMount = (): string => {
  const mount = mounts().find(([, , type]) => type === 'cgroup2')
  if (mount === undefined) throw new Error('this machine has no cgroup2 mounted')
  return mount[1]!
}

/** What the kernel bounds, where this machine has given these controllers to the older hierarchies: cgroup2 lacks them there. */
const older = ['pids', 'memory', 'devices', 'name=systemd']
const olderMounts = (): { controller: string; path: string }[] =>
  mounts().flatMap(([, path, type, options]) => {
    const controller = type === 'cgroup' ? older.find((each) => options!.split(',').includes(each)) : undefined
    return controller === undefined ? [] : [{ controller, path: path! }]
  })
export const hasOlderBounds = (): boolean => olderMounts().length === older.length

export interface BoxOptions {
  /** The older hierarchies beside cgroup2, as systemd calls it: for bounds that this machine's kernel keeps there. */
  readonly is_hybrid?: boolean
}

const run = (program: string, args: readonly string[], { input = '', timeout_ms = 200_000 }: RunOptions): Promise<Ran> =>
  new Promise((resolve) => {
    const options = { timeout: timeout_ms, killSignal: 'SIGKILL' as const, maxBuffer: 64 * 2 ** 20 }
    const child = execFile(program, args, options, (error, out, err) => {
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : 254) : 0, out, err })
    })
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })

/**
 * A throw-away machine with a real systemd as its first process, in namespaces of its own, on an overlay of this root: logind, dbus, sshd,
 * cron and at as Debian has them. It shares the loopback network. Nothing of this machine's files is written. Several can be up at once, and
 * all of it goes when `stop` is called or this process ends, however that happens.
 */
export const bootBox = async ({ is_hybrid = false }: BoxOptions = {}) => {
  // sshd does not trust keys below a folder that everybody may write to; the share holds some.
  const folder = mkdtempSync('/var/lib/gatehouse-box-')
  const name = `gatehouse-box-${randomBytes(4).toString('hex')}`
  const group = join(cgroupMount(), name)
  const beside = is_hybrid ? olderMounts().map(({ controller, path }) => ({ controller, group: join(path, name) })) : []
  const [share, root_key] = [join(folder, 'share'), join(folder, 'root-key')]
  mkdirSync(share)
  const groups = [group, ...beside.map((each) => each.group)]
  for (const each of groups) mkdirSync(each)
  const port = await freePort()
  execFileSync('/usr/bin/ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', root_key])
  copyFileSync(`${root_key}.pub`, join(share, 'root.pub'))
  if (!existsSync('/usr/bin/node')) copyFileSync(process.execPath, join(share, 'node'))

  const keeper = spawn('/usr/bin/unshare', ['--mount', '--propagation', 'private', 'bash', join(here, 'keeper.sh'), folder, ...groups], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  const kept = once(keeper, 'exit')
  await Promise.race([once(keeper.stdout, 'data'), kept.then(() => Promise.reject(new Error('the disk of the box was not mounted')))])

  let first: number | undefined
  let booted: ChildProcess | undefined
  const enter = () => ['-t', `${first}`, '-m', '-p', '-u', '-i', '-C', '-r', '-w', '--']
  /** Runs a program in there, as root, outside of every session. */
  const inside = (args: readonly string[], options: RunOptions = {}) => run('/usr/bin/nsenter', [...enter(), ...args], options)
  /** Runs a piece of shell in there, as somebody would type it in a shell of root. */
  const shell = (text: string, options: RunOptions = {}) =>
    inside(
      ['/usr/bin/env', '-i', 'HOME=/root', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'LANG=C.UTF-8'].concat([
        '/bin/bash',
        '-c',
        `cd /root; ${text}`,
      ]),
      options,
    )
  /** The same, and what it said; where it fails, the test does. */
  const sure = async (text: string, options: RunOptions = {}): Promise<string> => {
    const { code, out, err } = await shell(text, options)
    if (code !== 0) throw new Error(`in the box: ${text}\nended with ${code}: ${out}${err}`)
    return out.trim()
  }

  const console_log = join(folder, 'console.log')
  const boot = async () => {
    const output = openSync(console_log, 'a')
    const words = ['--mount', '--pid', '--fork', '--uts', '--ipc', '--cgroup', '--propagation', 'private', 'bash', join(here, 'machine.sh')]
    const text = 'for each in $1; do echo $$ > "$each/cgroup.procs"; done; keeper=$2; shift 2; exec nsenter -t "$keeper" -m -- unshare "$@"'
    const controllers = beside.map(({ controller }) => controller)
    booted = spawn('/bin/bash', ['-c', text, '-', groups.join(' '), `${keeper.pid}`, ...words, folder, `${port}`, ...controllers], {
      stdio: ['ignore', output, output],
      detached: true,
    })
    const gone = once(booted, 'exit')
    gone.catch(() => {})
    const isUp = async (): Promise<boolean> => {
      if (booted!.exitCode !== null) throw new Error(`the box did not come up: ${readFileSync(console_log, 'utf8')}`)
      const children = `/proc/${booted!.pid}/task/${booted!.pid}/children`
      const child = existsSync(children) ? Number(readFileSync(children, 'utf8').trim().split(' ')[0]) : 0
      if (!child) return false
      const name = readFileSync(`/proc/${child}/comm`, 'utf8').trim()
      if (name !== 'systemd') return false
      first = child
      return (await inside(['/usr/bin/systemctl', 'is-active', '-q', 'ssh', 'systemd-logind', 'systemd-user-sessions'])).code === 0
    }
    for (let round = 0; !(await isUp()); round += 1) {
      if (round > 600) throw new Error(`the box did not come up: ${readFileSync(console_log, 'utf8')}`)
      await pause(200)
    }
  }
  /** As when the power goes: nothing is told of it, and the disk stays as it is. */
  const cut = async () => {
    const gone = once(booted!, 'exit')
    writeFileSync(join(group, 'cgroup.kill'), '1')
    await gone
    // The next boot makes its groups anew.
    for (let round = 0; round < 200; round += 1) {
      await run('/usr/bin/find', [...groups, '-mindepth', '1', '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';'], {})
      if ((await run('/usr/bin/find', [...groups, '-mindepth', '1', '-type', 'd'], {})).out === '') return
      await pause(50)
    }
    throw new Error('something of the box is left after its power was cut')
  }
  /** Of the disk as a whole: what is written next finds room, or none for bytes or for one more file. */
  const setDisk = async (room: 'roomy' | 'no bytes' | 'no files') => {
    const within = async (...words: string[]) => {
      const { code, out, err } = await run('/usr/bin/nsenter', ['-t', `${keeper.pid}`, '-m', '--', ...words], {})
      if (code !== 0) throw new Error(`the disk of the box: ${err}`)
      return out.split('\n').at(-2)?.trim()
    }
    const used = (what: string) => within('df', '-B1', `--output=${what}`, join(folder, 'disk'))
    const size = room === 'no bytes' ? await used('used') : '6G'
    const nr_inodes = room === 'no files' ? await used('iused') : '4M'
    await within('mount', '-o', `remount,size=${size},nr_inodes=${nr_inodes}`, join(folder, 'disk'))
  }
  const stop = async () => {
    keeper.stdin.end()
    await kept
  }
  try {
    await boot()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    folder,
    /** Seen inside as `/mnt/share`. */
    share,
    port,
    root_key,
    /** Where its groups lie on this machine. */
    group,
    firstProcess: () => first!,
    inside,
    shell,
    sure,
    cut,
    boot,
    /** As `cut` and `boot`: without a word to anybody. */
    powerCycle: async () => {
      await cut()
      await boot()
    },
    setDisk,
    stop,
  }
}
export type Box = Awaited<ReturnType<typeof bootBox>>
