import type { Input } from '@gatehouse/contract/operation'
import type { setPlatformPolicyValue as Op, PolicyValue } from '@gatehouse/contract/policies'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { platformRoleSource } from '#rails/authz/standing-queries.ts'
import { requireSuperadminStays } from '#rails/authz/superadmins.ts'
import type { Verb } from '#rails/http/answer.ts'
import { effectiveValue, isAsStrict } from '#rails/policies/effective-value.ts'
import { definitionOf, type PolicyKey } from '#rails/policies/policy-definitions.ts'
import { parsePolicyValue } from '#rails/policies/policy-value.ts'
import { faultOf } from './meaningful-value.ts'
import { isPolicyKey, knownKey } from './policy-keys.ts'
import { authorizeWrite, type PolicyScope, recordedAt, type ScopeParams, type WritableScope } from './policy-scope.ts'
import type { PolicySubscribers } from './policy-subscribers.ts'
import { type CurrentValue, endValue, insertValue, valuesUpTo } from './policy-value-queries.ts'

/** Bounds count items, not letters; whatever is set is recorded whole, so it is kept short as well. */
const mostLetters = 16_384

/**
 * A wider value may be tightened at this very moment: then the narrower one that is written is the looser of the two, and does not
 * count. That is why nothing above is locked.
 */
const requireWithin = (key: PolicyKey, { scope_type }: PolicyScope, value: unknown, wider: readonly CurrentValue[]): void => {
  const { type, bounds, scopes, direction } = definitionOf(key)
  if (!scopes.includes(scope_type)) throw new Problem('policy_out_of_bounds', { detail: 'scope', scopes: [...scopes] })
  if (parsePolicyValue(key, value) === undefined) throw new Problem('policy_out_of_bounds', { detail: 'definition', type, bounds })
  if (JSON.stringify(value).length > mostLetters) throw new Problem('policy_out_of_bounds', { detail: 'length', limit: mostLetters })
  const fault = faultOf(key, value)
  if (fault) throw new Problem('policy_out_of_bounds', fault)
  const limit = direction.startsWith('tighten_') ? effectiveValue(key, wider) : undefined
  if (limit && !isAsStrict(direction, value, limit.value, bounds.choices))
    throw new Problem('policy_out_of_bounds', { detail: direction, limit: limit.value, limit_scope: limit.scope_type })
}

type Setting = Input<typeof Op>['body'] & { readonly operator?: string }

/** Writes the value of a key in a scope whose lock is held. */
export const writePolicyValue = async (
  work: Work,
  { onPolicyChanged }: PolicySubscribers,
  scope: WritableScope,
  key: string,
  body: Setting,
): Promise<PolicyValue> => {
  if (!isPolicyKey(key)) throw new Problem('policy_not_found')
  const values = await work.tx.many(valuesUpTo(scope, key))
  const own = values.find(({ scope_type }) => scope_type === scope.scope_type)
  const { value, expected_version, reason = null, operator } = body
  const version = own?.version ?? 0
  requireWithin(
    key,
    scope,
    value,
    values.filter((each) => each !== own),
  )
  if (expected_version !== undefined && expected_version !== version) throw new Problem('version_conflict', { version })
  const by = work.actor.type === 'user' ? work.actor.id : null
  const written = { id: newId('policy_value'), key, value: JSON.stringify(value), reason }
  const write = async () => {
    if (own) await work.tx.one(endValue(scope, key, by, work.now))
    return work.tx.one(insertValue(scope, written, by, work.now))
  }
  // Who reads platform roles elsewhere may find nobody there.
  const set = key === platformRoleSource ? await requireSuperadminStays(work, 'policy_out_of_bounds', write) : await write()
  record(work, {
    action: 'policy.value.set',
    resource_type: 'policy_value',
    resource_id: key,
    ...recordedAt(scope),
    metadata: {
      key,
      scope: scope.scope_type,
      from: own?.value ?? null,
      to: set.value,
      version: set.version,
      reason,
      ...(operator ? { operator } : {}),
    },
  })
  const { org_id, project_id } = scope
  for (const subscriber of onPolicyChanged) await subscriber(work, { key, org_id, project_id })
  return set
}

export const setPolicyValue =
  (subscribers: PolicySubscribers): Verb<ScopeParams & { readonly key: string }, unknown, Input<typeof Op>['body'], PolicyValue> =>
  async (work, { params, body }) =>
    writePolicyValue(work, subscribers, await authorizeWrite(work, 'policy_value', params, knownKey(params.key)), params.key, body)
