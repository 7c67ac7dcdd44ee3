import { randomBytes } from 'node:crypto'
import type { TaskParams, TaskType } from '../contract/src/node-tasks.ts'
import type { Id } from '../contract/src/shapes.ts'
import { lockAllocation } from '../server/src/fleet/allocations/allocation-queries.ts'
import { queueTask } from '../server/src/fleet/node-tasks/queue-task.ts'
import { taskSigning } from '../server/src/fleet/task-signers/task-signing.ts'
import { parseKeyRing } from '../server/src/ground/custody/key-ring.ts'
import type { Database } from '../server/src/ground/db/database.ts'
import { newId } from '../server/src/ground/kernel/ids.ts'
import { systemWork } from '../server/src/ground/work/work.ts'
import { systemProof } from '../server/src/rails/authz/authorize.ts'
import { type LiveServer, seeded, testKeys } from './live-server.ts'

const signing = taskSigning(parseKeyRing(testKeys))
const proof = systemProof('node_tending', 'platform.node.manage', {})

export interface Placed {
  readonly id: Id<'allocation'>
  readonly org_id: Id<'org'>
  readonly project_id: Id<'project'>
  readonly node_id: string
  readonly username: string
}

/** An allocation that is active on a node, put there by hand: what concerns tasks alone needs no more of it. */
export const placedAllocation = async (live: LiveServer, node_id: string): Promise<Placed> => {
  const id = newId('allocation')
  const username = `gh-${randomBytes(6).toString('hex')}`
  const { org, project, user } = seeded
  await live.sql(
    `insert into allocations (id, org_id, project_id, name, requested_by_type, requested_by, region, sku, gpus, node_id, username_on_node,
                              state, state_since, generation, epoch, created_at)
     select $1, $2, $3, 'by hand', 'user', $4, 'eu-1', 'h100', 1, $5, $6, 'active', now(), 100, i.epoch, now() from installation i`,
    [id, org.aurora, project.aurora, user('alice'), node_id, username],
  )
  return { id, org_id: org.aurora, project_id: project.aurora, node_id, username }
}

/** Queues what a verb would, in a transaction of its own. */
export const queued = <T extends TaskType>(
  database: Database,
  node_id: string,
  type: T,
  generation: number,
  allocation: Placed | null,
  more: Partial<TaskParams<T>> = {},
): Promise<{ id: string }> =>
  database.transaction('write', async (tx) => {
    // As whoever queues must: the order of an allocation's tasks is that of its lock.
    if (allocation) await tx.one(lockAllocation(allocation.id))
    const account = allocation ? { allocation_id: allocation.id, username: allocation.username } : {}
    const empty = type === 'allocation.install_authorized_keys' ? { keys: [], set_hash: 'none' } : {}
    const params = { ...account, ...empty, ...more } as unknown as TaskParams<T>
    return queueTask(systemWork(tx, 'node_tending', 'queued by a test'), signing, proof, {
      node_id: node_id as Id<'node'>,
      type,
      params,
      generation,
      allocation,
    })
  })

export const probed = (database: Database, node_id: string) => queued(database, node_id, 'diag.health_probe', 0, null)
