import type { decideBatch as Batch, explain as Explain, decide as Single } from '@gatehouse/contract/decisions'
import { record } from '../audit/record.ts'
import type { Asker, Asking } from '../http/answer.ts'
import { answerOf } from './decided-by.ts'
import { explanationOf } from './explain-decision.ts'
import { isCaller, judgeQuestions } from './judge-questions.ts'
import { type PlacedQuestion, readQuestions } from './question.ts'

export const decideQuestion: Asking<typeof Single> = async (asker, { body }) => {
  const asked = await readQuestions(asker.fresh, asker.actor, [body], () => 'action')
  const { revision, told } = await judgeQuestions(asker, asked, answerOf)
  return { ...told[0]!, revision }
}

export const decideQuestions: Asking<typeof Batch> = async (asker, { body: { questions } }) => {
  const asked = await readQuestions(asker.fresh, asker.actor, questions, (index) => `questions/${index}/action`)
  const { revision, told } = await judgeQuestions(asker, asked, answerOf)
  return { revision, decisions: told }
}

/** Whoever looks into somebody else's rights is recorded, in the place that he looked at. */
const noteExplained = (asker: Asker, { actor, action, place }: PlacedQuestion, decision_id: string): void => {
  if (isCaller(asker.actor, actor)) return
  const { tenant_id, project_id } = place
  const metadata = { asked: action, decision_id }
  record(asker, { action: 'authz.explain', resource_type: actor.type, resource_id: actor.id, tenant_id, project_id, metadata })
}

export const explainQuestion: Asking<typeof Explain> = async (asker, { body }) => {
  const asked = await readQuestions(asker.fresh, asker.actor, [body], () => 'action')
  const { revision, told } = await judgeQuestions(asker, asked, (judged) => ({ ...answerOf(judged), ...explanationOf(judged) }))
  noteExplained(asker, asked[0]!, told[0]!.decision_id)
  return { ...told[0]!, revision }
}
