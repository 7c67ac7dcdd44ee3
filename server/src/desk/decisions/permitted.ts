import { describedBy, isOverridden, rulesOver } from '#rails/authz/decide.ts'
import { type Attributes, unsaid } from '#rails/policies/condition.ts'
import { type AttributesIn, denies, surelyDenies } from '#rails/policies/constraint.ts'
import type { Judged } from './judge-questions.ts'

/** There always is a type of resource, which `unsaid` does not say; only nobody knows yet which, so that no rule can read it. */
const ofSomeType: Attributes = { resource_type: Symbol('of some type') }

/** Nobody asks here for a particular machine or bucket: that no region is named does not mean that a request would name none. */
const open: Attributes = { ...ofSomeType, region: unsaid, sku: unsaid, gpus: unsaid, flags: unsaid }

/** Whether an action is allowed to somebody whatever he does it to; `perhaps`, where a rule denies it only for want of what a request would say. */
export const permittedIn = ({ asked: { action }, facts, decision }: Judged): 'always' | 'perhaps' | 'never' => {
  const isByRule = decision.policy_source === 'policy_values'
  if (decision.decision === 'deny' && !isByRule) return 'never'
  // Such an allow no rule overturns.
  const rules = isOverridden(action, facts) ? [] : rulesOver(action, facts)
  const told = describedBy(facts)
  const where =
    (left: Attributes): AttributesIn =>
    (zone) => ({ ...told(zone), ...left })
  if (!rules.some((rule) => denies(rule, where(ofSomeType)))) return 'always'
  return rules.some((rule) => surelyDenies(rule, where(open))) ? 'never' : 'perhaps'
}
