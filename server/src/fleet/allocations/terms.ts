import type { SessionBounds, TaskParams } from '@gatehouse/contract/node-tasks'
import type { Work } from '#ground/work/work.ts'
import { readPolicies } from '#rails/policies/read-policy.ts'
import type { AllocationRow } from './allocation.ts'
import { toldOfDevices } from './device-queries.ts'
import type { KeyRule } from './key-kinds.ts'

/** The policies of which a node is told something. */
export const termPolicies = [
  'access.max_sessions_per_allocation',
  'access.session_tasks_max',
  'access.session_memory_max_bytes',
  'access.required_key_kinds',
] as const

/** What holds for an allocation's sessions besides who may enter. */
export interface Terms {
  readonly key_rule: KeyRule
  /** What its node is told of it: which devices they may open, and what they may take up together. */
  readonly told: Pick<TaskParams<'allocation.provision_user'>, 'devices' | 'bounds'>
}

/** An agent that does not know these members refuses a task that has them. */
const first_protocol = 2

/** As they are now; a node that would not understand it is told nothing, and verifies nobody. */
export const termsOf = async ({ tx }: Work, { id, org_id, project_id }: AllocationRow): Promise<Terms> => {
  const policies = await readPolicies(tx, termPolicies, { tenant_id: org_id, project_id })
  const { protocol_version, devices } = await tx.one(toldOfDevices(id))
  const can_verify = protocol_version >= first_protocol
  const key_rule = { required: policies['access.required_key_kinds'], can_verify }
  const bounds: SessionBounds = {
    sessions_max: policies['access.max_sessions_per_allocation'],
    tasks_max: policies['access.session_tasks_max'],
    memory_max_bytes: policies['access.session_memory_max_bytes'],
  }
  return { key_rule, told: can_verify ? { ...(devices === null ? {} : { devices }), bounds } : {} }
}
