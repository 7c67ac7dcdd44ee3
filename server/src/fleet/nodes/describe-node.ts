import { isDeepStrictEqual } from 'node:util'
import type { NodeDescription, describeNode as Op } from '@gatehouse/contract/node-description'
import type { Severity } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { Again, type AnsweringAgain } from '#rails/http/answer.ts'
import { nodeKind } from './node.ts'
import { type Described, describedNode, setDescription } from './node-description-queries.ts'
import { lockNode } from './node-queries.ts'
import type { NodeSubscribers } from './node-subscribers.ts'
import { noteProtocol } from './note-protocol.ts'
import { settled } from './settle-description.ts'

const sshOf = ({ ssh_host, ssh_port, ssh_host_keys }: NodeDescription | Described) => ({ ssh_host, ssh_port, ssh_host_keys })
const devicesOf = ({ devices, shared_devices }: NodeDescription | Described) => ({ devices, shared_devices })

/** Other keys or another address after the first word: clients are given them, and somebody else may be there now. */
const severityOf = (before: Described, said: NodeDescription): Severity => {
  if (before.described_at === null) return 'info'
  return isDeepStrictEqual(sshOf(before), sshOf(said)) ? 'warning' : 'high'
}

const isKnown = (before: Described, said: NodeDescription): boolean =>
  before.described_at !== null && isDeepStrictEqual({ ...sshOf(before), ...devicesOf(before) }, { ...sshOf(said), ...devicesOf(said) })

/** What was known already changes nothing, and nobody waits for it. */
export const describeNode =
  (subscribers: NodeSubscribers): AnsweringAgain<typeof Op> =>
  async (work, { params: { node_id }, body, node_protocol }) => {
    const node = await authorize(work, 'node.task.report', nodeKind, { id: node_id as string })
    const said = settled(body)
    const seen = await work.tx.one(describedNode(node_id))
    if (isKnown(seen, said) && seen.protocol_version === node_protocol) return new Again({ described_at: seen.described_at! }, false)
    // What lies on it comes first, everywhere.
    for (const lock of subscribers.beforeNodeLocked) await lock(work, node)
    await work.tx.one(lockNode(node_id))
    const before = await work.tx.one(describedNode(node_id))
    const is_new = !isKnown(before, said)
    if (is_new) {
      await work.tx.one(setDescription(node, said, work.now))
      record(work, {
        action: 'node.describe',
        resource_type: 'node',
        resource_id: node_id,
        severity: severityOf(before, said),
        metadata: {
          ...{ from: { ...sshOf(before), ...devicesOf(before) }, to: said, is_first: before.described_at === null },
          is_ssh_changed: before.described_at !== null && !isDeepStrictEqual(sshOf(before), sshOf(said)),
        },
      })
    }
    const is_moved = await noteProtocol(work, node, before.protocol_version, node_protocol)
    if (is_moved || (is_new && !isDeepStrictEqual(devicesOf(before), devicesOf(said))))
      for (const subscriber of subscribers.onNodeDescribed) await subscriber(work, node)
    const described_at = is_new ? work.now : before.described_at!
    return is_new || is_moved ? { described_at } : new Again({ described_at }, false)
  }
