import { issueServiceAccountToken } from '@gatehouse/contract/tokens'
import { answerIssuing } from '../http/answer.ts'
import { issueForServiceAccount } from './issue-for-service-account.ts'
import type { IssuerParts } from './issue-token.ts'

/** Who turns what into a token. Each class has a narrow door of its own; there is no general one. */
export const tokenRoutes = (parts: IssuerParts) => [answerIssuing(issueServiceAccountToken, issueForServiceAccount(parts))]
