import type { decideBatch as Batch, explain as Explain, decide as Single } from '@gatehouse/contract/decisions'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { nowhere } from '#rails/authz/kind.ts'
import type { Asker, Asking } from '#rails/http/answer.ts'
import { answerOf } from './decided-by.ts'
import { explanationOf } from './explain-decision.ts'
import { isCaller, type Judged, judgeQuestions } from './judge-questions.ts'
import { readQuestions } from './question.ts'

export const decideQuestion: Asking<typeof Single> = async (asker, { body }) => {
  const asked = await readQuestions(asker.fresh, asker.actor, [body], () => 'action')
  const { revision, told } = await judgeQuestions(asker, asked, answerOf)
  return { ...told[0]!, revision }
}

/** One question that may not be asked refuses the batch: the caller is told which, by its place in the list from 0. */
const named = (refused: unknown, question: number): unknown =>
  refused instanceof Problem ? new Problem(refused.code, { ...(refused.details as object | undefined), question }, refused.cause) : refused

export const decideQuestions: Asking<typeof Batch> = async (asker, { body: { questions } }) => {
  const asked = await readQuestions(asker.fresh, asker.actor, questions, (index) => `questions/${index}/action`)
  const { revision, told } = await judgeQuestions(asker, asked, answerOf, named)
  return { revision, decisions: told }
}

/** Looking into somebody else's rights is recorded, in the place that was asked about. */
const noteExplained = (asker: Asker, { asked: { actor, action, place }, callers }: Judged, decision_id: string): void => {
  if (isCaller(asker.actor, actor)) return
  // What there is not has no record of its own.
  const { tenant_id, project_id } = callers.tenant_state === null ? nowhere : place
  const metadata = { asked: action, decision_id }
  record(asker, { action: 'authz.explain', resource_type: actor.type, resource_id: actor.id, tenant_id, project_id, metadata })
}

export const explainQuestion: Asking<typeof Explain> = async (asker, { body }) => {
  const asked = await readQuestions(asker.fresh, asker.actor, [body], () => 'action')
  const { revision, told } = await judgeQuestions(asker, asked, (judged) => {
    const answer = answerOf(judged)
    noteExplained(asker, judged, answer.decision_id)
    return { ...answer, ...explanationOf(judged) }
  })
  return { ...told[0]!, revision }
}
