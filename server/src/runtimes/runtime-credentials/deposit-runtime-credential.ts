import type { depositRuntimeCredential as Op } from '@gatehouse/contract/runtime-credentials'
import { seal } from '#ground/custody/envelope.ts'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import { newId } from '#ground/kernel/ids.ts'
import { Secret } from '#ground/kernel/secret.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { requireRoom } from '#rails/policies/require-room.ts'
import { endDeliveriesOf } from '../deliveries/end-deliveries.ts'
import { authorizeToManage } from '../shared-runtimes/runtime-scope.ts'
import { recordedIn } from '../shared-runtimes/shared-runtime.ts'
import { boundOfCredential, isLive } from './runtime-credential.ts'
import { countCredentials, insertCredential, lockCredentialNamed, revokeCredential } from './runtime-credential-queries.ts'

/** Also for one that is disabled: a secret that has leaked is replaced then as well. */
export const depositRuntimeCredential =
  (ring: KeyRing): Answering<typeof Op> =>
  async (work, { params, body: { name, secret, reason = null } }) => {
    const { organization, runtime } = await authorizeToManage(work, params)
    const { tx, actor, now } = work
    const before = await tx.maybe(lockCredentialNamed(runtime.id, name))
    if (!before || !isLive(before)) {
      // The organization is locked: nobody counts at the same time.
      const { count } = await tx.one(countCredentials(runtime.id))
      await requireRoom(tx, 'shared_runtimes.max_credentials_per_runtime', count, { tenant_id: organization.id, project_id: null })
    }
    if (before) await tx.one(revokeCredential(organization, before.id, actor.id, reason ?? 'replaced', now))
    const ended = before && (await endDeliveriesOf(work, organization, [before.id]))
    const id = newId('runtime credential')
    const envelope = seal(ring, new Secret(secret), boundOfCredential(id, organization.id, runtime.id))
    const made = await tx.one(insertCredential(organization, { id, shared_runtime_id: runtime.id, name, envelope }, actor.id, now))
    record(work, {
      action: 'shared_runtime.credential.deposit',
      resource_type: 'shared_runtime_credential',
      resource_id: id,
      ...recordedIn(organization),
      metadata: {
        shared_runtime_id: runtime.id,
        display_name: runtime.display_name,
        name,
        version: made.version,
        ...(before ? { updated: true, replaces: before.id, replaced_version: before.version, ...ended } : {}),
        reason,
      },
    })
    return made
  }
