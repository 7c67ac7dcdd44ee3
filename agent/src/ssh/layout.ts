import { join } from 'node:path'

/** Where on the system the agent's work lies. All of it is root's, and nothing of it in a home. */
export interface Layout {
  /** One file for each managed account: the only one that sshd reads for it. */
  readonly keys_dir: string
  /** One file for each session, written by the hook. It outlives a restart of the system, so that every session that was begun is ended. */
  readonly sessions_dir: string
  /** Below which each session has a control group of its own. `own`: below the agent's. null: none, and sessions are told apart by their parents alone. */
  readonly cgroup_dir: string | null
  /** The hook that PAM runs when a session opens. */
  readonly hook: string
  readonly homes_dir: string
  /** The accounts that are ours, by their group. */
  readonly group: string
  readonly sshd: {
    readonly program: string
    readonly config: string
    readonly drop_in: string
    /** The file in which PAM is told of the hook. */
    readonly pam: string
    /** A file with the id of the process that listens. */
    readonly pid_file: string
  }
  /** Never given to a system's account, and never twice: what an old account left behind belongs to no new one. */
  readonly first_uid: number
}

export const usualLayout: Layout = {
  keys_dir: '/etc/gatehouse-agent/keys',
  sessions_dir: '/var/lib/gatehouse-agent/ssh-sessions',
  cgroup_dir: 'own',
  hook: '/usr/lib/gatehouse-agent/ssh-session',
  homes_dir: '/home',
  group: 'gatehouse-managed',
  sshd: {
    program: '/usr/sbin/sshd',
    config: '/etc/ssh/sshd_config',
    drop_in: '/etc/ssh/sshd_config.d/00-gatehouse.conf',
    pam: '/etc/pam.d/sshd',
    pid_file: '/run/sshd.pid',
  },
  first_uid: 200_000,
}

const username = /^gh-[a-z0-9]{6,20}$/

/** The signature vouches for a name; that it is no path is seen here again, where it becomes one. */
export const requireUsername = (name: string): string => {
  if (!username.test(name)) throw new Error('this is no name of a managed account')
  return name
}

export const keysFileOf = ({ keys_dir }: Layout, name: string): string => join(keys_dir, requireUsername(name))
/** In which the hook reads below which control group it makes others. */
export const groupsFileOf = ({ sessions_dir }: Layout): string => join(sessions_dir, '.cgroup')
