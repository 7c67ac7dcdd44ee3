import { oauthErrorOf } from '@gatehouse/contract/oauth-errors'
import type { ProblemCode } from '@gatehouse/contract/problems'
import type { Problem } from '#ground/kernel/problem.ts'

/** All that RFC 6749 lets a description hold. */
const unsaid = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g

/** Where our own sentence would speak of something else. */
const sentences: Partial<Record<ProblemCode, string>> = {
  unsupported_media_type: 'The body must be a form in UTF-8, not compressed.',
  token_missing: 'The client must say who it is.',
  token_invalid: 'The client is not who it says it is.',
}

const describing = ({ code, message, details }: Problem): string => {
  const said = sentences[code]
  if (said) return said
  const { detail, fields } = details ?? {}
  if (detail) return `${message} (${detail})`
  if (!fields) return message
  return fields.map(({ field, message: said }) => `${field} ${said}`).join('; ')
}

/** A refusal as OAuth tells it. Of what the caller sent, it names at most a field. */
export const oauthRefusal = (problem: Problem, is_token_shown: boolean) => {
  const { error, status } = oauthErrorOf(problem.code, is_token_shown)
  const said = error === 'invalid_token' ? problem.message : describing(problem)
  return { status, body: { error, error_description: said.replaceAll(unsaid, '?').slice(0, 500) } }
}

/** Whether somebody shows a token, in the manner of either scheme. */
export const isTokenShown = (authorization = ''): boolean => /^(?:Bearer|DPoP)(?: |$)/i.test(authorization)

/** For a client: it could have said in the header who it is. */
export const clientChallenge = 'Basic realm="gatehouse", charset="UTF-8"'
