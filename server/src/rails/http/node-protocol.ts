import type { IncomingHttpHeaders } from 'node:http'
import { node_protocol, node_protocol_header, nodeProtocolOf } from '@gatehouse/contract/node-protocol'
import type { Operation } from '@gatehouse/contract/operation'
import { Problem } from '#ground/kernel/problem.ts'

/** What every answer of the nodes' door says, also a refusal: an agent must know it before it sends anything new. */
export const spokenHere = { [node_protocol_header]: String(node_protocol) }

/** What both sides speak, at the nodes' door; at the other one nobody is asked. */
export const spokenBy = ({ listener }: Operation, headers: IncomingHttpHeaders): number => {
  if (listener !== 'nodes') return 1
  const spoken = nodeProtocolOf(headers[node_protocol_header])
  if (spoken === undefined)
    throw new Problem('validation_error', [{ in: 'header', field: node_protocol_header, message: 'must be a version: a whole number' }])
  return spoken
}
