import { join } from 'node:path'
import { readIfThere } from '../atomic-file.ts'

/** Where on the system the agent's work lies. All of it is root's, and nothing of it in a home. */
export interface Layout {
  /** One file for each managed account: the only one that sshd reads for it. */
  readonly keys_dir: string
  /** One file for each session, written by the hook. It outlives a restart of the system, so that every session that was begun is ended. */
  readonly sessions_dir: string
  /**
   * Below which each account has a control group, and each of its sessions one below that. `slice`: in the slice of the shipped units, where
   * systemd runs, so that they outlive the agent; elsewhere as `own`: below the agent's. null: none, and sessions are told apart by their
   * parents alone.
   */
  readonly cgroup_dir: string | null
  /** The hook that PAM runs when a session opens. */
  readonly hook: string
  readonly homes_dir: string
  /** The accounts that are ours, by their group. */
  readonly group: string
  /** Held by the one agent, or the one command, that changes what this machine has; wherever its state lies. */
  readonly lock_file: string
  /** Whom cron and at refuse. */
  readonly deny_files: readonly string[]
  readonly sshd: {
    readonly program: string
    readonly config: string
    readonly drop_in: string
    /** The file in which PAM is told of the hook. */
    readonly pam: string
    /** A file with the id of the process that listens. */
    readonly pid_file: string
  }
  /** Names of device nodes, as a shell would match them: of one GPU each, by the number at their end; and those that every session with one needs. */
  readonly devices: { readonly own: readonly string[]; readonly shared: readonly string[] }
  /** By which name or address clients reach sshd; null: where it listens, or by the machine's name. */
  readonly ssh_host: string | null
  /** Never given to a system's account, and never twice: what an old account left behind belongs to no new one. */
  readonly first_uid: number
  /** Numbers from which on systems lend to containers; after them it goes on at `second_uid`. */
  readonly end_uid: number
  readonly second_uid: number
}

export const usualLayout: Layout = {
  keys_dir: '/etc/gatehouse-agent/keys',
  sessions_dir: '/var/lib/gatehouse-agent/ssh-sessions',
  cgroup_dir: 'slice',
  hook: '/usr/lib/gatehouse-agent/ssh-session',
  homes_dir: '/home',
  group: 'gatehouse-managed',
  lock_file: '/run/gatehouse-agent.lock',
  deny_files: ['/etc/cron.deny', '/etc/at.deny'],
  sshd: {
    program: '/usr/sbin/sshd',
    config: '/etc/ssh/sshd_config',
    drop_in: '/etc/ssh/sshd_config.d/00-gatehouse.conf',
    pam: '/etc/pam.d/sshd',
    pid_file: '/run/sshd.pid',
  },
  devices: { own: ['/dev/nvidia[0-9]*'], shared: ['/dev/nvidiactl', '/dev/nvidia-uvm', '/dev/nvidia-uvm-tools', '/dev/nvidia-modeset'] },
  ssh_host: null,
  // Above what systems give to accounts (by login.defs up to 60 000, by systemd up to 65 519), and below what they lend to containers (by
  // login.defs from 100 000). Small, since sshd keeps the time of the last login at a place by number: with large ones that file seems to be
  // half a terabyte. 34 000 accounts later: above what systems lend (by systemd up to 1 879 048 191), and below what it keeps for files of others.
  first_uid: 66_000,
  end_uid: 100_000,
  second_uid: 2_000_000_000,
}

const username = /^gh-[a-z0-9]{6,20}$/
export const isUsername = (name: string): boolean => username.test(name)

/** The signature vouches for a name; that it is no path is seen here again, where it becomes one. */
export const requireUsername = (name: string): string => {
  if (!isUsername(name)) throw new Error('this is no name of a managed account')
  return name
}

export const keysFileOf = ({ keys_dir }: Layout, name: string): string => join(keys_dir, requireUsername(name))
/** Whose node this machine was last: it outlives the state of the agent. */
export const nodeFileOf = ({ keys_dir }: Layout): string => join(keys_dir, '.node')
export const nodeOfMachine = async (layout: Layout): Promise<string | undefined> => (await readIfThere(nodeFileOf(layout)))?.trim()

/** For the hook: how many sessions and processes an account may have. */
export const boundsFileOf = ({ sessions_dir }: Layout, name: string): string => join(sessions_dir, `.bounds-${requireUsername(name)}`)
/** In which the hook reads below which control group it makes others, and whether systemd made that. */
export const groupsFileOf = ({ sessions_dir }: Layout): string => join(sessions_dir, '.cgroup')
