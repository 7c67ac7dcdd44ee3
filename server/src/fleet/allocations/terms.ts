import type { TaskParams } from '@gatehouse/contract/node-tasks'
import type { Work } from '#ground/work/work.ts'
import { toldOfDevices } from './device-queries.ts'

/** What a node is told of an allocation's sessions besides who may enter: what they may open and take up. */
export type Terms = Pick<TaskParams<'allocation.provision_user'>, 'devices' | 'bounds'>

/** An agent that does not know these members refuses a task that has them. */
const first_protocol = 2

/** As they are now; nothing for a node that would not understand it. */
export const termsOf = async ({ tx }: Work, { id }: { readonly id: string }): Promise<Terms> => {
  const { protocol_version, devices } = await tx.one(toldOfDevices(id))
  if (protocol_version < first_protocol) return {}
  return devices === null ? {} : { devices }
}
