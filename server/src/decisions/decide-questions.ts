import type { decideBatch as Batch, explain as Explain, decide as Single } from '@gatehouse/contract/decisions'
import type { Asking } from '../http/answer.ts'
import { explanationOf } from './explain-decision.ts'
import { answerOf, judgeQuestions } from './judge-questions.ts'
import { readQuestions } from './question.ts'

export const decideQuestion: Asking<typeof Single> = async (asker, { body }) => {
  const { revision, judged } = await judgeQuestions(asker, await readQuestions(asker.fresh, asker.actor, [body], () => 'action'))
  return { ...answerOf(judged[0]!), revision }
}

export const decideQuestions: Asking<typeof Batch> = async (asker, { body: { questions } }) => {
  const asked = await readQuestions(asker.fresh, asker.actor, questions, (index) => `questions/${index}/action`)
  const { revision, judged } = await judgeQuestions(asker, asked)
  return { revision, decisions: judged.map(answerOf) }
}

export const explainQuestion: Asking<typeof Explain> = async (asker, { body }) => {
  const { revision, judged } = await judgeQuestions(asker, await readQuestions(asker.fresh, asker.actor, [body], () => 'action'))
  return { ...answerOf(judged[0]!), revision, ...explanationOf(judged[0]!) }
}
