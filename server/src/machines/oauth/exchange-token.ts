import { createHash } from 'node:crypto'
import { exchangeGrant, issueOAuthToken, type TokenForm, tokenTypes } from '@gatehouse/contract/oauth'
import { Problem } from '#ground/kernel/problem.ts'
import type { Verified } from '../tokens/issue-token.ts'
import type { Exchange } from '../tokens/judge-issuance.ts'
import type { MachineClass } from '../tokens/machine-class.ts'
import { exchanging } from '../tokens/verify-exchange.ts'
import { accessToken, audienceIn, type Grant, provedBy } from './grant.ts'
import type { OAuthParts } from './oauth-parts.ts'

const misshapen = (reason: string) => new Problem('invalid_request', { because: reason })

/** The token that is brought, if the form asks for what there is: an access token for an access token, with the client as who acts. */
const subjectIn = (form: TokenForm): string => {
  const { subject_token, subject_token_type, requested_token_type, actor_token, actor_token_type } = form
  if (subject_token === undefined || subject_token_type === undefined) throw misshapen('no subject token')
  if (!Object.values<string>(tokenTypes).includes(subject_token_type)) throw misshapen('not a type of subject token')
  if (requested_token_type !== undefined && requested_token_type !== tokenTypes.access_token) throw misshapen('not a type that is issued')
  if (actor_token !== undefined || actor_token_type !== undefined) throw misshapen('who acts is the client')
  return subject_token
}

/** Operators have tokens of their own, and exchange none. */
const isOfAccount = (asking: Verified<MachineClass>): asking is Verified<'service_account'> => asking.actor.type === 'service_account'
const notTheirs = (): Exchange => ({ refused: new Problem('subject_token_invalid'), why: 'class_of_client' })

/** The same token is the same request; nothing of it is kept. */
const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64url')

/**
 * A token for one that holds as much or less of it (RFC 8693): its subject stays who it is, the client becomes who acts where it is another,
 * and with the token that was brought ends the one that was issued.
 */
export const tokenExchange = (parts: OAuthParts): Grant => {
  const { verifierOf, issue } = parts
  const exchanged = exchanging(parts)
  return {
    type: exchangeGrant,
    issue: async ({ caller, client, holder, form }) => {
      const token = subjectIn(form)
      const request = { ...audienceIn(form), ...(form.scope === undefined ? {} : { scope: form.scope }) }
      const jkt = holder?.jkt ?? null
      const verify = verifierOf(caller, { key_id: client.client_id }, client.prove)
      const issued = await issue(caller, {
        operation: issueOAuthToken,
        request,
        same_by: { grant_type: exchangeGrant, client_id: client.client_id, subject: digestOf(token), ...request, ...(jkt && { jkt }) },
        verify: async (fresh) => {
          const asking = await provedBy(holder, await verify(fresh))
          if (asking.refused) return asking
          return isOfAccount(asking) ? exchanged(caller, fresh, asking, { token, jkt }) : { ...asking, exchange: notTheirs() }
        },
        profile: accessToken(client, holder),
      })
      return {
        access_token: issued.access_token,
        issued_token_type: tokenTypes.access_token,
        token_type: issued.token_type,
        expires_in: issued.expires_in_seconds,
        scope: issued.scope,
      }
    },
  }
}
