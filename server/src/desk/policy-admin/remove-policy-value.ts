import type { Input } from '@gatehouse/contract/operation'
import type { removePlatformPolicyValue as Op } from '@gatehouse/contract/policies'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Verb } from '#rails/http/answer.ts'
import { definitionOf } from '#rails/policies/policy-definitions.ts'
import { isPolicyKey, knownKey } from './policy-keys.ts'
import { authorizeWrite, recordedAt, type ScopeParams } from './policy-scope.ts'
import type { PolicySubscribers } from './policy-subscribers.ts'
import { endValue } from './policy-value-queries.ts'

export const removePolicyValue =
  ({ onPolicyChanged }: PolicySubscribers): Verb<ScopeParams & { readonly key: string }, unknown, Input<typeof Op>['body'], unknown> =>
  async (work, { params: { key, ...params }, body }) => {
    const scope = await authorizeWrite(work, 'policy_value', params, knownKey(key))
    if (!isPolicyKey(key)) throw new Problem('policy_not_found')
    // A limit that is missing refuses every request that needs it, perhaps this one's opposite too.
    if (scope.scope_type === 'global' && definitionOf(key).default !== undefined)
      throw new Problem('state_conflict', { detail: 'must_have_value' })
    const ended = await work.tx.maybe(endValue(scope, key, work.actor.id, work.now))
    if (!ended) throw new Problem('policy_not_found')
    record(work, {
      action: 'policy.value.remove',
      resource_type: 'policy_value',
      resource_id: key,
      ...recordedAt(scope),
      metadata: { key, scope: scope.scope_type, from: ended.value, to: null, version: ended.version, reason: body.reason ?? null },
    })
    const { org_id, project_id } = scope
    for (const subscriber of onPolicyChanged) await subscriber(work, { key, org_id, project_id })
  }
