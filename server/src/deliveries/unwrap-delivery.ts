import type { unwrapDelivery as Op } from '@gatehouse/contract/runtime-credentials'
import { record } from '../audit/record.ts'
import { EnvelopeRefused } from '../custody/envelope.ts'
import type { Answering } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import { Secret } from '../kernel/secret.ts'
import type { Actor, Work } from '../work/work.ts'
import type { Delivery, DeliveryOwners } from './delivery.ts'
import { type FoundDelivery, findDelivery, openDelivery } from './delivery-queries.ts'
import { hashOfToken, isSpelledAsToken } from './wrapping-token.ts'

type Why = 'other_requester' | 'opened_before' | 'expired' | 'revoked' | 'ended_by_restore' | 'does_not_open'

const isRequester = (actor: Actor, { requester_type, requester_id }: Delivery): boolean =>
  actor.type === requester_type && actor.id === requester_id

/** Undefined where it can be opened. */
const whyNot = (actor: Actor, delivery: FoundDelivery): Why | undefined => {
  if (!isRequester(actor, delivery)) return 'other_requester'
  if (delivery.state === 'opened') return 'opened_before'
  if (delivery.state !== 'waiting') return delivery.state
  if (!delivery.is_of_epoch) return 'ended_by_restore'
  return delivery.is_over ? 'expired' : undefined
}

/** Somebody else had the token before its owner, or has it now; or somebody has written to the table who should not. */
const isAlarming = (why: Why): boolean => why === 'opened_before' || why === 'other_requester' || why === 'does_not_open'

/** The caller is told nothing; its tenant is told all. What crosses tenants is the platform's business. */
const noteRefused = async (work: Work, owners: DeliveryOwners, delivery: Delivery, why: Why): Promise<void> => {
  const described = await owners[delivery.kind].describe(work, delivery.subject_id)
  work.trail.refused_about = {
    resource_type: 'delivery',
    resource_id: delivery.id,
    tenant_id: work.actor.token?.tenant_id === delivery.org_id ? delivery.org_id : null,
    project_id: null,
    severity: isAlarming(why) ? 'high' : 'warning',
    metadata: { kind: delivery.kind, subject_id: delivery.subject_id, ...described, why },
  }
}

/**
 * What cannot be opened is refused before anything is judged, and always alike. The owner locks first, so that whoever takes the subject back
 * meanwhile is either seen or waits; of those who open it at the same time the row lets one through.
 */
export const unwrapDelivery =
  (owners: DeliveryOwners): Answering<typeof Op> =>
  async (work, { body }) => {
    const { tx, actor, now } = work
    const token = new Secret(body.wrapping_token)
    const find = async () => (isSpelledAsToken(token.reveal()) ? tx.maybe(findDelivery(hashOfToken(token))) : undefined)
    const refuse = async (delivery: FoundDelivery | undefined, why: Why | undefined): Promise<never> => {
      if (delivery && why) await noteRefused(work, owners, delivery, why)
      throw new Problem('delivery_not_found')
    }

    const delivery = (await find()) ?? (await refuse(undefined, undefined))
    const why = whyNot(actor, delivery)
    if (why) return refuse(delivery, why)
    const held = await owners[delivery.kind].hold(work, delivery)
    const opened = held && (await tx.maybe(openDelivery(held.proof, delivery.id, now)))
    if (!opened) {
      const since = await find()
      return refuse(since, since && (whyNot(actor, since) ?? 'revoked'))
    }
    const { name, version } = held
    const secret = await held.take().catch((error: unknown) => {
      if (error instanceof EnvelopeRefused) return refuse(delivery, 'does_not_open')
      throw error
    })
    record(work, {
      action: 'delivery.unwrap',
      resource_type: 'delivery',
      resource_id: delivery.id,
      tenant_id: delivery.org_id,
      project_id: delivery.project_id,
      metadata: { kind: delivery.kind, subject_id: delivery.subject_id, name, version },
    })
    return { delivery_id: delivery.id, name, version, secret: secret.reveal(), credential_session_id: delivery.id }
  }
