import type { revokeOAuthToken as Op } from '@gatehouse/contract/oauth'
import { Problem } from '#ground/kernel/problem.ts'
import type { Actor, Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { type Kind, nowhere } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'
import { ownToken, revokeToken, type Subject, tokenOfLine } from '../tokens/cutoff-queries.ts'
import { verifyToken } from '../tokens/verify-token.ts'
import type { OAuthParts } from './oauth-parts.ts'

const kindOf = (type: string): Kind<Subject> => ({
  type,
  missing: 'token_invalid',
  placeOf: ({ id, org_id, project_id }) => ({ ...nowhere, id, tenant_id: org_id, project_id }),
})

/** The id that a token of ours says it has; undefined of any other text. */
const idIn = async ({ keys, issuer }: OAuthParts, { tx, now }: Work, token: string): Promise<string | undefined> => {
  const wanted = keys.want()
  const [known] = await wanted.source.load(tx, [wanted.key as never])
  try {
    return known && verifyToken(token, known, { issuer: issuer.url, audience: null }, now).claims.jti
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined
    throw error
  }
}

/**
 * Whoever has the key may end what is the account's. Whoever shows a token may have no more than that token, which may be a small part of
 * what its subject has, in somebody else's hands: he ends it, and what comes from it.
 */
const withinReach = (jti: string, actor: Actor) => (actor.token ? tokenOfLine(jti, actor.token.jti) : ownToken(jti, actor))

/** Who did it, and in which part. */
const doneBy = ({ id, token }: Actor, owner_id = id) => {
  const by = token?.act?.sub ?? id
  if (by !== owner_id) return { by, reason: 'given back by who acts for its owner' }
  return { by, reason: token ? 'given back by who showed a token of its owner' : 'given back by its owner' }
}

/** Ends a token that is within the reach of who asks. Whoever brings another learns nothing, and nothing happens but that it is recorded. */
export const revokeOwnToken =
  (parts: OAuthParts): Answering<typeof Op> =>
  async (work, { body: { token } }) => {
    const { actor, tx, now } = work
    const home = await parts.gate.homeOf(actor.id)
    if (!home) throw new Problem('token_invalid')
    const jti = await idIn(parts, work, token)
    const found = jti === undefined ? undefined : await tx.maybe(withinReach(jti, actor))
    const subject = await authorize(work, 'auth.token.revoke_own', kindOf(found ? 'token' : actor.type), found ?? { id: actor.id, ...home })
    const place = { tenant_id: home.org_id, project_id: home.project_id }
    const { by, reason } = doneBy(actor, found?.owner_id)
    if (found) await tx.one(revokeToken(subject, by, reason, now))
    record(work, {
      action: 'auth.token.revoke',
      resource_type: found ? 'token' : actor.type,
      resource_id: subject.id,
      ...place,
      ...(found ? {} : { result: 'failed', reason_code: 'token_not_found' }),
      metadata: { subject_type: 'token', subject_id: found?.id ?? null, issued_before: null, reason },
    })
    return undefined as never
  }
