import * as tokens from '@gatehouse/contract/tokens'
import { answer } from '#rails/http/answer.ts'
import { listProjectTokens, listRuntimeTokens } from './list-tokens.ts'
import { revokeTokens } from './revoke-tokens.ts'

/** What people do with the tokens of machines: see and end them. */
export const tokenAdminRoutes = [
  answer(tokens.listProjectTokens, listProjectTokens),
  answer(tokens.listRuntimeTokens, listRuntimeTokens),
  answer(tokens.revokeTokens, revokeTokens),
]
