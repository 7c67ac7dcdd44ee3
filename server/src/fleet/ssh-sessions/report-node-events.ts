import type { reportNodeEvents as Op } from '@gatehouse/contract/node-events'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { type Authorized, authorize } from '#rails/authz/authorize.ts'
import { Again, type AnsweringAgain } from '#rails/http/answer.ts'
import type { AllocationParts, AllocationRow } from '../allocations/allocation.ts'
import { findAllocation, lockAllocations } from '../allocations/allocation-queries.ts'
import { askAfterDrift, type Drifted } from '../allocations/node-drifted.ts'
import { nodeKind } from '../nodes/node.ts'
import { type Happening, inOrder, requireWhole } from './node-event.ts'
import { type Holding, recordBegin, recordDrift, recordEnd } from './record-events.ts'
import { beginSession, endSession, findSession, holdersThen, noteEvents, sentThere } from './ssh-session-queries.ts'

type Proof = Authorized<'node.task.report', { readonly id: string }>
type OfSession = Extract<Happening, { kind: 'session_started' | 'session_ended' }>

const refused = (reason_code: 'scope_mismatch' | 'permission_denied') => new Problem('insufficient_permissions', { reason_code })

/** An allocation stays with its node. One that is not there and one that is on another answer alike. */
const allocationsToldOf = async ({ tx }: Work, node_id: string, events: readonly Happening[]): Promise<Map<string, AllocationRow>> => {
  const found = new Map<string, AllocationRow>()
  for (const id of new Set<string>(events.map(({ allocation_id }) => allocation_id))) {
    const allocation = await tx.maybe(findAllocation(id))
    if (allocation?.node_id !== node_id) throw refused('scope_mismatch')
    found.set(id, allocation)
  }
  return found
}

const holdingOf = async (work: Work, node_id: string, event: OfSession): Promise<Holding> => {
  const { tx } = work
  const { allocation_id, fingerprint, generation, at } = event
  const { is_in_force } = await tx.one(sentThere(allocation_id, node_id, fingerprint, at))
  const held = await tx.maybe(holdersThen(allocation_id, node_id, fingerprint, generation))
  const each = <T>(all: readonly (T | null)[]): T[] => [...new Set(all.filter((one): one is T & {} => one !== null))]
  return {
    user_ids: each((held?.holders ?? []).map(({ user_id }) => user_id)),
    grant_ids: each((held?.holders ?? []).map(({ grant_id }) => grant_id)),
    is_known: held !== undefined,
    is_in_force,
  }
}

/** A node cannot have a set that it was never sent: whoever tells of one is not to be believed in the rest either. */
const requireSent = async ({ tx }: Work, node_id: string, allocation: AllocationRow, events: readonly Happening[]): Promise<void> => {
  const told = events.filter(({ allocation_id }) => allocation_id === allocation.id)
  const { last } = await tx.one(sentThere(allocation.id, node_id, null, told[0]!.at))
  if (told.some(({ generation }) => generation > (last ?? 0))) throw refused('permission_denied')
}

/** Begun and ended once each, whatever is repeated and in whichever order it comes; what a node said first of whose it was stays. */
const noteSession = async (work: Work, proof: Proof, allocation: AllocationRow, event: OfSession): Promise<void> => {
  const { id: node_id } = proof
  const holding = await holdingOf(work, node_id, event)
  const { session_id, fingerprint, allocation_id, at } = event
  const opened = { id: newId('ssh session'), node_id: node_id as never, session_id, allocation_id, fingerprint, ...holding }
  const session = await work.tx.maybe(
    event.kind === 'session_started'
      ? beginSession(proof, { ...opened, started_at: at, source_ip: event.source_ip ?? null })
      : endSession(proof, {
          ...opened,
          ended_at: at,
          end_cause: event.end,
          processes_ended: event.processes_ended ?? null,
          may_have_left_processes: event.may_have_left_processes ?? null,
        }),
  )
  if (session) {
    const kept = { ...holding, user_ids: session.user_ids, grant_ids: session.grant_ids }
    if (event.kind === 'session_started') recordBegin(work, allocation, session, kept, event)
    else recordEnd(work, allocation, session, kept, event)
    return
  }
  const known = await work.tx.one(findSession(node_id, session_id))
  if (known.allocation_id !== allocation_id || known.fingerprint !== fingerprint) throw refused('permission_denied')
}

/** What it has put right by itself is as it was; that an account went was right for the agent, which did not know it, and not for us. */
const driftedBy = (event: Happening): Drifted | undefined => {
  const { allocation_id } = event
  if (event.kind === 'drift_found') return { allocation_id, because: 'drift_found', is_account_gone: event.failure === 'no_such_account' }
  if (event.kind === 'drift_restored' && event.found === 'account_left')
    return { allocation_id, because: 'account_left', is_account_gone: true }
  return undefined
}

/** What happened on a node by itself. All of it is taken, or nothing; what was told before is taken and counts no more. */
export const reportNodeEvents =
  (parts: AllocationParts): AnsweringAgain<typeof Op> =>
  async (work, { params: { node_id }, body }) => {
    const proof = await authorize(work, 'node.task.report', nodeKind, { id: node_id as string })
    const events = requireWhole(body.events)
    const allocations = await allocationsToldOf(work, node_id, events)
    for (const allocation of allocations.values()) await requireSent(work, node_id, allocation, events)
    const drifted = events.flatMap((event) => driftedBy(event)?.allocation_id ?? [])
    // Before anything of ours: allocations are locked first, everywhere.
    if (drifted.length > 0) await work.tx.many(lockAllocations(drifted))
    const event_ids = events.map(({ event_id }) => event_id)
    const fresh = await work.tx.many(noteEvents(proof, node_id, event_ids, work.now))
    for (const event of inOrder(events, new Set(fresh.map(({ event_id }) => event_id)))) {
      const allocation = allocations.get(event.allocation_id)!
      if (event.kind === 'drift_restored' || event.kind === 'drift_found') recordDrift(work, allocation, event)
      else await noteSession(work, proof, allocation, event)
      const drift = driftedBy(event)
      if (drift) await askAfterDrift(work, parts, drift)
    }
    const reply = { accepted: [...new Set(event_ids)] }
    return work.trail.events.length > 0 ? reply : new Again(reply, false)
  }
