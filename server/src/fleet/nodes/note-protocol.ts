import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { setProtocol } from './node-description-queries.ts'

/**
 * Which version a node speaks now, where it is another than before; its row is locked. From an older agent on nothing keeps devices and bounds
 * any more, which somebody should look at.
 */
export const noteProtocol = async (
  work: Work,
  node: Authorized<Action, { readonly id: string }>,
  before: number,
  protocol_version: number,
): Promise<boolean> => {
  if (before === protocol_version) return false
  await work.tx.one(setProtocol(node, protocol_version))
  record(work, {
    action: 'node.protocol_version',
    resource_type: 'node',
    resource_id: node.id,
    severity: protocol_version < before ? 'high' : 'info',
    metadata: { from: before, to: protocol_version },
  })
  return true
}
