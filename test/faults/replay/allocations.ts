import { linesIn, type Room, rowById } from './room.ts'

export interface Allocations {
  /** Of each its state, and who owns it. */
  readonly allocations: Map<string, { state: string; owner: string | null }>
  /** The allocation and the key. */
  readonly allocation_keys: Set<string>
  /** The allocation and the GPU of its node. */
  readonly allocation_devices: Set<string>
}

const holdDevices = (state: Allocations, id: string, indexes: readonly number[] | null): boolean => {
  for (const index of indexes ?? []) state.allocation_devices.add(`${id} ${index}`)
  return true
}
const freeDevices = (state: Allocations, id: string) => {
  for (const line of state.allocation_devices) if (line.startsWith(`${id} `)) state.allocation_devices.delete(line)
}

const endAllocationKeys = (state: Allocations, id: string) => {
  for (const line of state.allocation_keys) if (line.startsWith(`${id} `)) state.allocation_keys.delete(line)
}
const moveAllocation = (state: Allocations, id: string, to: string, from?: string): boolean => {
  const one = state.allocations.get(id)
  if (!one || (from !== undefined && one.state !== from)) return false
  one.state = to
  return true
}
const own = (state: Allocations, id: string, owner: string | null, former?: string | null): boolean => {
  const one = state.allocations.get(id)
  if (!one || (former !== undefined && one.owner !== former)) return false
  one.owner = owner
  return true
}

export const allocations: Room<Allocations> = {
  read: async (sql) => ({
    allocations: await rowById(sql, 'select id, state, owner_user_id as owner from allocations'),
    allocation_keys: await linesIn(
      sql,
      `select allocation_id || ' ' || ssh_key_id as line from allocation_ssh_public_keys where ended_at is null`,
    ),
    allocation_devices: await linesIn(
      sql,
      `select allocation_id || ' ' || device_index as line from allocation_devices where released_at is null`,
    ),
  }),
  lines: (state) => [
    ...[...state.allocations].map(([id, { state: is, owner }]) => `allocation ${id} ${is} of ${owner ?? 'nobody'}`),
    ...[...state.allocation_keys].map((line) => `key of the allocation ${line}`),
    ...[...state.allocation_devices].map((line) => `device of the allocation ${line}`),
  ],
  steps: {
    'allocation.create': (state, { resource_id, metadata: { owner_user_id, ssh_key_ids } }) => {
      if (state.allocations.has(resource_id)) return false
      state.allocations.set(resource_id, { state: 'requested', owner: owner_user_id })
      for (const key of ssh_key_ids) state.allocation_keys.add(`${resource_id} ${key}`)
      return true
    },
    'allocation.provision': (state, { resource_id, metadata }) =>
      moveAllocation(state, resource_id, 'provisioning', 'requested') && holdDevices(state, resource_id, metadata.device_indexes),
    'allocation.devices.give': (state, { resource_id, metadata }) => holdDevices(state, resource_id, metadata.device_indexes),
    'allocation.activate': (state, { resource_id }) => moveAllocation(state, resource_id, 'active', 'provisioning'),
    'allocation.release': (state, { resource_id, metadata: { from, to } }) => {
      endAllocationKeys(state, resource_id)
      return moveAllocation(state, resource_id, to, from)
    },
    'allocation.released': (state, { resource_id }) => {
      freeDevices(state, resource_id)
      return moveAllocation(state, resource_id, 'released', 'releasing')
    },
    'allocation.release_fail': (state, { resource_id }) => moveAllocation(state, resource_id, 'release_failed', 'releasing'),
    'allocation.fail': (state, { resource_id, metadata }) => {
      endAllocationKeys(state, resource_id)
      if (metadata.failure === 'node_retired') freeDevices(state, resource_id)
      return moveAllocation(state, resource_id, 'failed')
    },
    'allocation.ssh_keys.replace': (state, { resource_id, metadata: { added, ended } }) => {
      for (const key of ended) if (!state.allocation_keys.delete(`${resource_id} ${key}`)) return false
      for (const key of added) state.allocation_keys.add(`${resource_id} ${key}`)
      return true
    },
    'allocation.ssh_keys.end': (state, { resource_id, metadata: { ended } }) =>
      ended.every((key: string) => state.allocation_keys.delete(`${resource_id} ${key}`)),
    'allocation.owner.name': (state, { resource_id, metadata: { user_id, former_owner_user_id, ended } }) => {
      for (const key of ended) state.allocation_keys.delete(`${resource_id} ${key}`)
      return own(state, resource_id, user_id, former_owner_user_id)
    },
    'allocation.owner.end': (state, { resource_id, metadata: { user_id } }) => own(state, resource_id, null, user_id),
  },
}
