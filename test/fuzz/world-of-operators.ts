import { createSharedRuntime } from '../../contract/src/shared-runtimes.ts'
import { type LiveServer, seeded } from '../live-server.ts'
import { operatorWithSecret } from '../operator-credential.ts'
import type { RightfulCall } from './rightful-call.ts'

const { org } = seeded
const at = <T>(list: readonly T[], pick: number): T | undefined => list[pick % list.length]

/** A runtime of which nothing is ended, whose operator's credentials are made, used and revoked. */
export const worldOfOperators = async (live: LiveServer) => {
  await live.setPolicy('auth.max_operator_credentials_per_runtime', 100)
  const wish = { app_slug: 'fuzz', app_version: '1', display_name: 'operated', runtime_backend: 'k8s' } as const
  const { id } = (await live.ask('adam', createSharedRuntime, { params: { org_id: org.aurora }, body: wish })).body
  // One that nobody revokes, to issue by.
  const { credential } = await operatorWithSecret(live, id)
  const keys: string[] = []
  for (const _ of [1, 2, 3]) keys.push((await operatorWithSecret(live, id)).key_id)
  const params = { org_id: org.aurora, shared_runtime_id: id }
  const calls: Record<string, (pick: number) => RightfulCall> = {
    'shared_runtime.operator_credential.list': () => ({ person: 'adam', params }),
    // Whatever end chance names lies in the past.
    'shared_runtime.operator_credential.create': () => ({ person: 'alice', params, body: { expires_at: undefined } }),
    'shared_runtime.operator_credential.revoke': (pick) => ({ person: 'adam', params: { ...params, key_id: at(keys, pick) ?? id } }),
    'auth.token.list_of_shared_runtime': () => ({ person: 'adam', params }),
    'auth.shared_runtime_operator_token.issue': () => ({
      person: 'adam',
      params: {},
      body: {
        ...credential,
        // What chance asserts is not so, and what it wishes for is not allowed.
        ...{ actor_type: undefined, actor_id: undefined, org_id: undefined, project_id: undefined },
        ...{ resource_type: undefined, resource_id: undefined, audience: undefined, scope: undefined },
      },
    }),
  }
  return {
    calls,
    learn: (operation: string, params: Readonly<Record<string, string>>, body: { key_id: string }): void => {
      if (operation === 'shared_runtime.operator_credential.create') keys.push(body.key_id)
      if (operation === 'shared_runtime.operator_credential.revoke' && keys.includes(params.key_id!))
        keys.splice(keys.indexOf(params.key_id!), 1)
    },
  }
}
