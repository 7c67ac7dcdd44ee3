import type { unwrapDelivery as Op } from '@gatehouse/contract/runtime-credentials'
import { EnvelopeRefused } from '#ground/custody/envelope.ts'
import { Secret } from '#ground/kernel/secret.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import type { DeliveryOwners } from './delivery.ts'
import { findDelivery, openDelivery } from './delivery-queries.ts'
import { notThere, refusalOf, type Why, whyNot } from './refuse-delivery.ts'
import { hashOfToken, isSpelledAsToken } from './wrapping-token.ts'

/**
 * What cannot be opened is refused before anything is judged, and always alike. The owner locks first, so that whoever takes the subject back
 * meanwhile is either seen or waits; of those who open it at the same time the row lets one through.
 */
export const unwrapDelivery =
  (owners: DeliveryOwners): Answering<typeof Op> =>
  async (work, { body }) => {
    const { tx, actor, now } = work
    const token = new Secret(body.wrapping_token)
    if (!isSpelledAsToken(token.reveal())) throw notThere()
    const find = () => tx.maybe(findDelivery(hashOfToken(token)))
    const delivery = await find()
    if (!delivery) throw notThere()
    const refused = (why: Why) => refusalOf(work, owners, delivery, why)

    const why = whyNot(actor, delivery)
    if (why) throw await refused(why)
    const held = await owners[delivery.kind].hold(work, delivery)
    const opened = held && (await tx.maybe(openDelivery(held.proof, delivery.id, now)))
    // It could be opened a moment ago: what has become of it since, or of its subject?
    if (!opened) throw await refused(whyNot(actor, (await find()) ?? delivery) ?? 'revoked')
    const { name, version } = held
    const secret = await held.take().catch(async (error: unknown) => {
      throw error instanceof EnvelopeRefused ? await refused('does_not_open') : error
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
