import type { NodeDescription } from '@gatehouse/contract/node-description'
import { Problem } from '#ground/kernel/problem.ts'

const refuse = (field: string, message: string) => new Problem('validation_error', [{ in: 'body', field, message }])

const repeatedIn = <T>(all: readonly T[]): T | undefined => all.find((each, index) => all.indexOf(each) !== index)

/**
 * In one order, so that the same said in another is the same. A device that two indexes have, or that every session has besides, would be two
 * tenants' at once.
 */
export const settled = ({ devices, shared_devices, ssh_host, ssh_port, ssh_host_keys }: NodeDescription): NodeDescription => {
  if (repeatedIn(devices.map(({ index }) => index)) !== undefined) throw refuse('devices', 'must have each index once')
  if (repeatedIn([...devices.flatMap(({ paths }) => paths), ...shared_devices]) !== undefined)
    throw refuse('devices', 'must have each path once, and none that is shared')
  return {
    devices: devices.map(({ index, paths }) => ({ index, paths: paths.toSorted() })).sort((a, b) => a.index - b.index),
    shared_devices: shared_devices.toSorted(),
    ssh_host,
    ssh_port,
    ssh_host_keys: ssh_host_keys.toSorted(),
  }
}
