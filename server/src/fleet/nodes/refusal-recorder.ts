import type { Database } from '#ground/db/database.ts'
import { networkOf } from '#ground/kernel/networks.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import { type Actor, newTrail } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'

export interface RefusedNode {
  readonly action: 'node.enrol' | 'node.certificate.refuse'
  /** Null: nobody knows whose it would be. */
  readonly node_id: string | null
  /** The certificate or enrolment of that node which was shown; null: somebody only named the node. */
  readonly credential_id: string | null
  readonly reason_code: string
  readonly correlation_id: string
  readonly source_ip: string
  readonly metadata: Readonly<Record<string, unknown>>
}

interface Minute {
  began: number
  written: number
  left_out: number
}
const minute_ms = 60_000
/** From one network in a minute; strangers must not be able to fill the record. */
const most_written = 60

/** Says that somebody came as a node and was none, who is nobody until then. How many more there were is said with the next one. */
export const refusalRecorder = (database: Database, append: Append) => {
  const minutes = recentlyUsed<Minute>(10_000)
  const counted = (network: string): number | null => {
    const now = performance.now()
    const minute = minutes.get(network)
    if (!minute || now >= minute.began + minute_ms) {
      minutes.set(network, { began: now, written: 1, left_out: 0 })
      return minute?.left_out ?? 0
    }
    if (minute.written >= most_written) {
      minute.left_out += 1
      return null
    }
    minute.written += 1
    return 0
  }

  return async ({ action, node_id, credential_id, reason_code, correlation_id, source_ip, metadata }: RefusedNode): Promise<void> => {
    // By network: a host with one IPv6 address has its whole /64, and could fill the record from there.
    const left_out = counted(networkOf(source_ip))
    if (left_out === null) return
    // Who shows a node's certificate has its key; who only claims to be it, is nobody.
    const actor: Actor =
      node_id === null || credential_id === null ? { type: 'system', id: 'node_gate' } : { type: 'node_agent', id: node_id, credential_id }
    await database.transaction('write', async (tx) => {
      const work = { actor, correlation_id, source_ip, trail: newTrail(), now: tx.now, tx }
      record(work, {
        action,
        resource_type: 'node',
        resource_id: node_id,
        result: 'denied',
        reason_code,
        severity: 'high',
        metadata: { ...metadata, source_ip, ...(left_out > 0 ? { left_out_before: left_out } : {}) },
      })
      await append(work)
    })
  }
}
export type RecordRefusal = ReturnType<typeof refusalRecorder>
