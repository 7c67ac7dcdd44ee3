import type { PolicyValue } from '@gatehouse/contract/policies'
import type { Work } from '#ground/work/work.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { lockPlatform } from '#rails/authz/platform-queries.ts'
import { thePlatform } from './policy-scope.ts'
import type { PolicySubscribers } from './policy-subscribers.ts'
import { writePolicyValue } from './set-policy-value.ts'

/**
 * What somebody with the installation's own keys and database password orders. A value that is missing or unreadable may be what keeps
 * everybody from setting it.
 */
export const setPolicyValueByOrder = async (
  work: Work,
  subscribers: PolicySubscribers,
  { key, ...setting }: { key: string; value: unknown; reason: string; operator: string },
): Promise<PolicyValue> => {
  await work.tx.one(lockPlatform())
  return writePolicyValue(work, subscribers, systemProof('operator_script', 'platform.admin', thePlatform), key, setting)
}
