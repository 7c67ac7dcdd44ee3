import type { readMyPermissions as Op } from '@gatehouse/contract/decisions'
import { Problem } from '#ground/kernel/problem.ts'
import { type Action, actions } from '#rails/authz/actions.ts'
import type { Asking } from '#rails/http/answer.ts'
import { judgeQuestions } from './judge-questions.ts'
import { permittedIn } from './permitted.ts'
import { readQuestions } from './question.ts'

const everyAction = Object.keys(actions) as Action[]

/** Every action, judged in one place at one moment: so it cannot disagree with a decision. */
export const readMyPermissions: Asking<typeof Op> = async (asker, { query }) => {
  const { org_id, project_id } = query
  const { actor, fresh, source_ip } = asker
  // What one may do to oneself there is among it: to leave, to read who one is.
  const type = project_id ? 'project_membership' : org_id ? 'tenant_membership' : 'user'
  const resource = { type, id: actor.id as never, ...(org_id ? { tenant_id: org_id } : {}), ...(project_id ? { project_id } : {}) }
  const questions = everyAction.map((action) => ({ action, resource, attributes: { source_ip } }))
  const asked = await readQuestions(fresh, actor, questions, () => 'action')
  const { revision, told } = await judgeQuestions(asker, asked, (judged) => ({ facts: judged.facts, permitted: permittedIn(judged) }))
  const { kind, place } = asked[0]!
  const { standing, may_know } = told[0]!.facts
  // Like every other resource of a tenant: to strangers it does not exist.
  const isThere = standing.tenant_state !== null && (!project_id || standing.project_state !== null)
  if ((org_id || project_id) && !(may_know && isThere)) throw new Problem(kind.missing)
  return {
    org_id: place.tenant_id as never,
    project_id: place.project_id as never,
    revision,
    permissions: everyAction.filter((_, index) => told[index]!.permitted === 'always'),
    conditional: everyAction.filter((_, index) => told[index]!.permitted === 'perhaps'),
  }
}
