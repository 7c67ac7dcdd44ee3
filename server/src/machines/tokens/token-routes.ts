import { issueServiceAccountToken, issueSharedRuntimeOperatorToken } from '@gatehouse/contract/tokens'
import { answerIssuing } from '#rails/http/answer.ts'
import { issueForOperator } from './issue-for-operator.ts'
import { issueForServiceAccount } from './issue-for-service-account.ts'
import type { GateAndIssuer } from './issuing.ts'

/** Who turns what into a token. Each class has a narrow door of its own; there is no general one. */
export const tokenRoutes = (issuing: GateAndIssuer) => [
  answerIssuing(issueServiceAccountToken, issueForServiceAccount(issuing)),
  answerIssuing(issueSharedRuntimeOperatorToken, issueForOperator(issuing)),
]
