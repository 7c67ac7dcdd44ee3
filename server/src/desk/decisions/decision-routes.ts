import * as decisions from '@gatehouse/contract/decisions'
import { answerAsking } from '#rails/http/answer.ts'
import { decideQuestion, decideQuestions, explainQuestion } from './decide-questions.ts'
import { readMyPermissions } from './read-my-permissions.ts'

export const decisionRoutes = [
  answerAsking(decisions.decide, decideQuestion),
  answerAsking(decisions.decideBatch, decideQuestions),
  answerAsking(decisions.explain, explainQuestion),
  answerAsking(decisions.readMyPermissions, readMyPermissions),
]
