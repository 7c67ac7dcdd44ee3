import type { deliverRuntimeCredential as Op } from '@gatehouse/contract/runtime-credentials'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { wrap } from '../deliveries/wrap.ts'
import { authorizeToOperate } from '../shared-runtimes/runtime-scope.ts'
import { recordedIn } from '../shared-runtimes/shared-runtime.ts'
import { isLive } from './runtime-credential.ts'
import { lockCredentialNamed } from './runtime-credential-queries.ts'

/** As often as it asks: each delivery is opened once, and the secret stays for the next. */
export const deliverRuntimeCredential: Answering<typeof Op> = async (work, { params, body: { name } }) => {
  const { organization, runtime } = await authorizeToOperate(work, 'shared_runtime.credential.deliver', params)
  const credential = await work.tx.maybe(lockCredentialNamed(runtime.id, name))
  if (!credential || !isLive(credential)) throw new Problem('runtime_credential_not_found')
  const promised = { kind: 'shared_runtime_credential', subject_id: credential.id, org_id: organization.id, project_id: null } as const
  const { delivery_id, token, ends_at } = await wrap(work, organization, { ...promised, requester: work.actor })
  record(work, {
    action: 'shared_runtime.credential.deliver',
    resource_type: 'shared_runtime_credential',
    resource_id: credential.id,
    ...recordedIn(organization),
    metadata: { display_name: runtime.display_name, name, version: credential.version, delivery_id, ends_at },
  })
  return { delivery_id, wrapping_token: token.reveal(), expires_at: ends_at, credential_session_id: delivery_id }
}
