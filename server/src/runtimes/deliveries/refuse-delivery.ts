import { Problem } from '#ground/kernel/problem.ts'
import type { Actor, Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import type { Delivery, DeliveryOwners } from './delivery.ts'
import type { FoundDelivery } from './delivery-queries.ts'

export type Why = 'other_requester' | 'opened_before' | 'expired' | 'revoked' | 'ended_by_restore' | 'does_not_open'

const isRequester = (actor: Actor, { requester_type, requester_id }: Delivery): boolean =>
  actor.type === requester_type && actor.id === requester_id

/** Undefined where it can be opened. */
export const whyNot = (actor: Actor, delivery: FoundDelivery): Why | undefined => {
  if (!isRequester(actor, delivery)) return 'other_requester'
  if (delivery.state === 'opened') return 'opened_before'
  if (delivery.state !== 'waiting') return delivery.state
  if (!delivery.is_of_epoch) return 'ended_by_restore'
  return delivery.is_over ? 'expired' : undefined
}

/** Somebody else had the token before its owner, or has it now; or somebody has written to the table who should not. */
const isAlarming = (why: Why): boolean => why === 'opened_before' || why === 'other_requester' || why === 'does_not_open'

/** Whatever is wrong with it, nobody is told more. */
export const notThere = () => new Problem('delivery_not_found')

/**
 * The caller is told nothing; its tenant is told all. What crosses tenants is the platform's business: whose operator it was is told that it
 * tried something that is nothing there, as of a token that nobody has made.
 */
export const refusalOf = async (work: Work, owners: DeliveryOwners, delivery: Delivery, why: Why): Promise<Problem> => {
  const { id, kind, subject_id, org_id } = delivery
  const described = await owners[kind].describe(work, subject_id)
  const about = {
    resource_type: 'delivery',
    resource_id: id,
    project_id: null,
    severity: isAlarming(why) ? 'high' : 'warning',
    metadata: { kind, subject_id, ...described, why },
  } as const
  const problem = notThere()
  if (work.actor.token?.tenant_id === org_id) work.trail.refused_about = { ...about, tenant_id: org_id }
  else
    work.trail.on_refusal.push(async (recording) =>
      record(recording, { ...about, action: 'delivery.unwrap', tenant_id: null, result: 'denied', reason_code: problem.code }),
    )
  return problem
}
