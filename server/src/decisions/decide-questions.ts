import type { decideBatch as Batch, explain as Explain, decide as Single } from '@gatehouse/contract/decisions'
import type { Asking } from '../http/answer.ts'
import { explanationOf } from './explain-decision.ts'
import { answerOf, judgeQuestions } from './judge-questions.ts'
import { readQuestions } from './question.ts'

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

export const explainQuestion: Asking<typeof Explain> = async (asker, { body }) => {
  const asked = await readQuestions(asker.fresh, asker.actor, [body], () => 'action')
  const { revision, told } = await judgeQuestions(asker, asked, (judged) => ({ ...answerOf(judged), ...explanationOf(judged) }))
  return { ...told[0]!, revision }
}
