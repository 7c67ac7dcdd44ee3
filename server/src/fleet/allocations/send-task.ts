import type { TaskParams, TaskType } from '@gatehouse/contract/node-tasks'
import type { Work } from '#ground/work/work.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { queueTask } from '../node-tasks/queue-task.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import type { AllocationRow } from './allocation.ts'
import { nextGeneration } from './allocation-queries.ts'
import type { DesiredSet } from './desired-set.ts'
import { type Terms, termsOf } from './terms.ts'

type OfAllocation = Exclude<TaskType, 'diag.health_probe'>
/** Which account on the node it is about. */
type Account = Pick<TaskParams<'allocation.provision_user'>, 'allocation_id' | 'username'>

/** Asks an allocation's node for the next thing. The row must be locked: generations are counted one after the other. */
const send = async <T extends OfAllocation>(
  work: Work,
  signing: TaskSigning,
  proof: Authorized<Action, object>,
  { id }: AllocationRow,
  type: T,
  paramsOf: (account: Account) => TaskParams<T>,
): Promise<{ readonly generation: number; readonly task_id: string }> => {
  const { generation, org_id, project_id, node_id, username_on_node: username } = await work.tx.one(nextGeneration(proof, id))
  if (node_id === null || username === null) throw new Error('an allocation that is nowhere has no node to ask')
  const params = paramsOf({ allocation_id: id, username })
  const task = await queueTask(work, signing, proof, { node_id, type, params, generation, allocation: { id, org_id, project_id } })
  return { generation, task_id: task.id }
}

export const sendProvision = async (work: Work, signing: TaskSigning, proof: Authorized<Action, object>, row: AllocationRow) => {
  const { told } = await termsOf(work, row)
  return send(work, signing, proof, row, 'allocation.provision_user', (account) => ({ ...account, ...told }))
}

export const sendKeys = (
  work: Work,
  signing: TaskSigning,
  proof: Authorized<Action, object>,
  row: AllocationRow,
  { set, told }: { readonly set: DesiredSet; readonly told: Terms['told'] },
) => send(work, signing, proof, row, 'allocation.install_authorized_keys', (account) => ({ ...account, ...set, ...told }))

export const sendDeprovision = (work: Work, signing: TaskSigning, proof: Authorized<Action, object>, row: AllocationRow) =>
  send(work, signing, proof, row, 'allocation.deprovision_user', (account) => account)
