import { fingerprintOf, type KeyRing } from '#ground/custody/key-ring.ts'
import type { Database } from '#ground/db/database.ts'
import { type ListenOptions, listenTo } from '#ground/db/listen.ts'
import type { PrimaryGuard } from '#ground/db/primary-guard.ts'
import type { Append } from '#rails/audit/append.ts'
import type { Authority } from '../nodes/authority.ts'
import { issueSignerCertificate } from '../nodes/issue-certificate.ts'
import { type TaskSigning, taskSigning } from '../task-signers/task-signing.ts'
import { type SignerTending, tendSigners } from '../task-signers/tend-signers.ts'
import type { NodeTasks } from './node-task-routes.ts'
import type { TaskSubscribers } from './task-subscribers.ts'
import { type TaskTending, tendTasks } from './tend-tasks.ts'

interface Parts {
  readonly database: Database
  readonly append: Append
  readonly ring: KeyRing
  readonly authority: Authority
  /** Where a connection of its own is made to, to hear what nodes have to do. */
  readonly database_url: string
  readonly primary?: PrimaryGuard
  readonly subscribers: (signing: TaskSigning) => TaskSubscribers
  readonly onError: (error: Error, during: 'listening' | 'signing') => void
  readonly look_ms?: NonNullable<ListenOptions['look_ms']>
}

/** All that a process needs to let nodes do something: it signs, hears, and looks after what is open. */
export const nodeTasking = ({ database, append, ring, authority, database_url, primary, subscribers, onError, look_ms }: Parts) => {
  const signing = taskSigning(ring)
  // `application_name` has room for five. The key that `keys:rewrap` will use next is among the first.
  const says = ring.ids
    .slice(0, 5)
    .map((id) => fingerprintOf(ring, id))
    .join(' ')
  const wakes = listenTo({
    ...{ url: database_url, channel: 'gatehouse_node_tasks', says, onError: (error: Error) => onError(error, 'listening') },
    ...(primary ? { primary } : {}),
    ...(look_ms ? { look_ms } : {}),
  })
  const signers: SignerTending = {
    database,
    append,
    ring,
    certify: (key, kid) => issueSignerCertificate(authority, key, kid, new Date().toISOString()),
  }
  const tending: TaskTending = { database, append, signing, subscribers: subscribers(signing) }
  let under_way: ReturnType<typeof tendTasks> | undefined
  /** Callers at the same moment share one run: a slow database must not get more work. */
  const tendOnce = () => {
    under_way ??= tendTasks(tending).finally(() => {
      under_way = undefined
    })
    return under_way
  }
  let last: Promise<unknown> = Promise.resolve()
  const tendSoon = () => {
    // After what is under way: it may have looked before.
    last = last.then(() => tendSigners(signers).then(() => tendTasks(tending))).catch((error: Error) => onError(error, 'signing'))
  }
  const tasks: NodeTasks = { signing, wakes, tendSoon }
  return {
    tasks,
    tendSigners: () => tendSigners(signers),
    tendTasks: tendOnce,
    /** When what was wanted soon is done. */
    settled: () => last,
    close: async () => {
      await last
      await wakes.close()
    },
  }
}

export type Tasking = ReturnType<typeof nodeTasking>
