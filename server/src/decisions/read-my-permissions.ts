import type { readMyPermissions as Op } from '@gatehouse/contract/decisions'
import { type Action, actions } from '../authz/actions.ts'
import { type Decision, describedBy, rulesOver } from '../authz/decide.ts'
import type { Facts } from '../authz/facts.ts'
import type { Asking } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import { type Attributes, unsaid } from '../policies/condition.ts'
import { type AttributesIn, surelyDenies } from '../policies/constraint.ts'
import { judgeQuestions } from './judge-questions.ts'
import { readQuestions } from './question.ts'

const everyAction = Object.keys(actions) as Action[]

/** Nobody asks here for a particular machine or bucket: that no region is named does not mean that a request would name none. */
const open: Attributes = { region: unsaid, sku: unsaid, gpus: unsaid, flags: unsaid }

/** Denied for want of what only a particular request could say: no rule is known to hold, but one may. */
const isConditional = (action: Action, { policy_source }: Decision, facts: Facts): boolean => {
  if (policy_source !== 'policy_values') return false
  const told = describedBy(facts)
  const described: AttributesIn = (zone) => ({ ...told(zone), ...open })
  return !rulesOver(action, facts).some((rule) => surelyDenies(rule, described))
}

/** Every action, judged in one place at one moment: so it cannot disagree with a decision. */
export const readMyPermissions: Asking<typeof Op> = async (asker, { query }) => {
  const { org_id, project_id } = query
  const { actor, fresh, source_ip } = asker
  const type = project_id ? 'project' : org_id ? 'organization' : 'platform'
  const resource = { type, ...(org_id ? { tenant_id: org_id } : {}), ...(project_id ? { project_id } : {}) }
  const questions = everyAction.map((action) => ({ action, resource, attributes: { source_ip } }))
  const asked = await readQuestions(fresh, actor, questions, () => 'action')
  const { revision, told } = await judgeQuestions(asker, asked, ({ asked: one, facts, decision }) => ({
    ...{ one, facts, action: one.action },
    is_allowed: decision.decision === 'allow',
    is_conditional: isConditional(one.action, decision, facts),
  }))
  const { facts, one } = told[0]!
  // Like every other resource of a tenant: to strangers it does not exist.
  const isThere = facts.standing.tenant_state !== null && (!project_id || facts.standing.project_state !== null)
  if ((org_id || project_id) && !(facts.may_know && isThere)) throw new Problem(one.kind.missing)
  return {
    org_id: (one.place.tenant_id ?? null) as never,
    project_id: (one.place.project_id ?? null) as never,
    revision,
    permissions: told.filter(({ is_allowed }) => is_allowed).map(({ action }) => action),
    conditional: told.filter(({ is_conditional }) => is_conditional).map(({ action }) => action),
  }
}
