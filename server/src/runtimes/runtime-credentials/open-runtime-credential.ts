import { unseal } from '#ground/custody/envelope.ts'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import { findOrganization } from '#people/tenancy/organization-queries.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { DeliveryOwner } from '../deliveries/delivery.ts'
import { runtimesOf } from '../shared-runtimes/runtime-scope.ts'
import { lockRuntime } from '../shared-runtimes/shared-runtime-queries.ts'
import { boundOfCredential, isLive } from './runtime-credential.ts'
import { findCredential, lockCredential, markDelivered } from './runtime-credential-queries.ts'

/** Deposited secrets, as `deliveries` hands them over. */
export const runtimeCredentialDeliveries = (ring: KeyRing): DeliveryOwner => ({
  describe: ({ tx }, subject_id) =>
    tx.maybe(findCredential(subject_id)).then((found) => found && { name: found.name, version: found.version }),

  hold: async (work, { subject_id, org_id }) => {
    const { tx, now } = work
    const known = await tx.maybe(findCredential(subject_id))
    const found = await tx.maybe(findOrganization(org_id))
    const runtime = known && (await tx.maybe(lockRuntime(org_id, known.shared_runtime_id)))
    // Whoever disables it ends what waits; where that is under way, it is as if it were done.
    if (!runtime || runtime.state === 'disabled') return undefined
    const where = { type: 'shared_runtime_credential', id: subject_id, shared_runtime_id: runtime.id }
    const kind = { ...runtimesOf(where), missing: 'delivery_not_found' } as const
    const proof = await authorize(work, 'shared_runtime.credential.deliver', kind, found)
    const credential = await tx.maybe(lockCredential(runtime.id, subject_id))
    if (!credential || !isLive(credential)) return undefined
    const { id, name, version, envelope } = credential
    const take = async () => {
      await tx.one(markDelivered(proof, id, now))
      return unseal(ring, envelope, boundOfCredential(id, org_id, runtime.id))
    }
    return { proof, name, version, take }
  },
})
