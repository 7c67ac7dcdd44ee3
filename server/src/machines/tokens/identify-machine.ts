import type { FreshReader, Wanted } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Actor } from '#ground/work/work.ts'
import { verifiedBefore } from '#people/principals/oidc/verified-before.ts'
import type { Showing } from '#rails/http/answer.ts'
import type { ShownToken } from '#rails/http/read-request.ts'
import type { KeySet } from '../keys/key-set.ts'
import type { TokenRecord } from './lineage.ts'
import { endOf, isOfRecord, wantToken } from './live-token.ts'
import { type Accepted, invalid, keyAt, requireTime, type VerifiedToken, verifyToken } from './verify-token.ts'

const held = (keys: KeySet | undefined): KeySet => {
  if (!keys) throw new Problem('dependency_unavailable', undefined, new Error('no keys were found'))
  return keys
}

/** That it was signed well stays true; that the key still counts, and that the token does, must be so now. */
const requireLive = (verified: VerifiedToken, keys: KeySet, found: TokenRecord | undefined, now: string): TokenRecord => {
  const { kid, key, typ, claims } = verified
  const current = keyAt(keys, kid, now).key
  if (current !== key && !current.equals(key)) throw invalid('its kid names another key')
  requireTime(claims, now)
  if (!found) throw invalid('was never issued')
  if (!isOfRecord(typ, kid, claims, found)) throw invalid('says something else than its record')
  const end = endOf(found, keys.installation_epoch, now)
  if (end !== undefined) throw invalid(end)
  return found
}

/** A token that counts at this moment: what it says, and its record. */
export interface LiveToken {
  readonly verified: VerifiedToken
  readonly found: TokenRecord
}

/**
 * Finds out whether a token of ours counts; throws where it does not. Nothing is believed for a while: each request reads the keys and
 * the token's record fresh, at one moment, and time is what the database says it is.
 */
export const readLiveToken = (wantKeys: () => Wanted<KeySet>, accepted: Accepted) => {
  const memory = verifiedBefore<VerifiedToken>()

  /** Only a token that we signed costs a look at what was issued. */
  const verifyNow = async (token: string, fresh: FreshReader): Promise<VerifiedToken> => {
    const { moment, values } = await fresh.read([wantKeys()])
    const verified = verifyToken(token, held(values[0]), accepted, moment.now)
    memory.remember(token, verified)
    return verified
  }

  return async (token: string, fresh: FreshReader): Promise<LiveToken> => {
    const verified = memory.find(token) ?? (await verifyNow(token, fresh))
    const { moment, values } = await fresh.read([wantKeys(), wantToken(verified.claims)])
    return { verified, found: requireLive(verified, held(values[0]), values[1], moment.now) }
  }
}

/**
 * Throws unless whoever shows a token is whom it is bound to, if it is bound to anybody. What the function does that is returned uses up
 * his proof: it writes, and so it comes after the request has been counted.
 */
export type RequireHolder = (shown: ShownToken, cnf_jkt: string | null, fresh: FreshReader) => Promise<() => Promise<void>>

/** Which machine a token of ours speaks for, and how far it reaches. */
export const identifyMachine = (wantKeys: () => Wanted<KeySet>, accepted: Accepted, requireHolder: RequireHolder) => {
  const read = readLiveToken(wantKeys, accepted)
  return async (shown: ShownToken, fresh: FreshReader, identified: Showing['identified']): Promise<Actor> => {
    const { found } = await read(shown.token, fresh)
    const { id, actor_type, actor_id, credential_id, org_id, project_id, shared_runtime_id, scope, cnf_jkt, act } = found
    // A token that counts has a credential, and none is issued to a person.
    if (actor_type === 'user' || credential_id === null) throw invalid('tokens are not issued to this class of actor')
    const useProof = await requireHolder(shown, cnf_jkt, fresh)
    const token = {
      jti: id,
      tenant_id: org_id,
      project_id,
      ...(shared_runtime_id !== null && { shared_runtime_id }),
      actions: new Set(scope),
      ...(act && { act }),
    }
    const actor: Actor = { type: actor_type, id: actor_id, credential_id, home_tenant_id: org_id, token }
    await identified(actor, () => read(shown.token, fresh))
    await useProof()
    return actor
  }
}

/** Whose token it says it is. Good for nothing but to choose who verifies it; he then holds it to that. */
export const issuerNamedBy = (token: string): unknown => {
  try {
    const said: unknown = JSON.parse(Buffer.from(token.split('.', 2)[1] ?? '', 'base64url').toString())
    return (said as { iss?: unknown } | null)?.iss
  } catch {
    return undefined
  }
}
