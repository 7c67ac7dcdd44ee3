import { type Source, type Wanted, want } from '#ground/epochs/fresh.ts'
import { actorsIn } from './act.ts'
import { type TokenRecord, withLineage } from './lineage.ts'
import { tokensBy } from './live-token-queries.ts'
import {
  actOfClaims,
  clientOfClaims,
  holderOfClaims,
  projectOfClaims,
  runtimeOfClaims,
  type TokenClaims,
  tenantOfClaims,
} from './token-claims.ts'

interface TokenKey {
  readonly jti: string
  readonly org_id: string | null
}

const issuedTokens: Source<TokenKey, TokenRecord> = {
  name: 'issued token',
  textOf: ({ jti, org_id }) => `${jti} ${org_id}`,
  tenantOf: ({ org_id }) => org_id,
  load: async (tx, keys) => {
    const rows = await tx.many(
      tokensBy(
        keys.map(({ jti }) => jti),
        keys.map(({ org_id }) => org_id),
      ),
    )
    const found: (TokenRecord | undefined)[] = keys.map(() => undefined)
    for (const { n, ...row } of await withLineage(tx, rows)) found[n - 1] = row
    return found
  },
}

/** What we know of the token that has these claims, to be read fresh; undefined for one that we never issued. */
export const wantToken = (claims: TokenClaims): Wanted<TokenRecord> =>
  want(issuedTokens, { jti: claims.jti, org_id: tenantOfClaims(claims) })

const isOver = (end: string | null, now: string): boolean => end !== null && now >= end

/**
 * Why a token does not count any more, though its time is not over; undefined while it counts. That its actor is disabled does not end
 * it: he is told so, by whoever judges what he asks for.
 */
export const endOf = (record: TokenRecord, installation_epoch: number, now: string): string | undefined => {
  if (record.epoch !== installation_epoch) return 'it was issued before a backup was restored'
  if (record.revoked_at !== null) return 'it was revoked'
  if (record.is_cut_off) return 'it was issued before a cut-off'
  if (record.actor_state === null || record.actor_state === 'deleted') return 'its actor is gone'
  if (!record.has_credential || record.credential_revoked_at !== null) return 'its credential was revoked'
  if (isOver(record.credential_expires_at, now)) return 'its credential has expired'
  if (record.lineage?.is_ended || isOver(record.lineage?.ends_at ?? null, now)) return 'a token that it comes from has ended'
  if (record.organization_state !== 'active') return 'its organization is not active'
  // An operator's is bound to none.
  if (record.project_id !== null && record.project_state !== 'active') return 'its project is not active'
  return undefined
}

const secondsOf = (instant: string) => Math.floor(Date.parse(instant) / 1000)

/** Whether what was signed is what was recorded, to the letter. */
export const isOfRecord = (typ: string, kid: string, claims: TokenClaims, record: TokenRecord): boolean =>
  record.id === claims.jti &&
  record.typ === typ &&
  record.kid === kid &&
  record.actor_type === claims.actor_type &&
  record.actor_id === claims.sub &&
  record.org_id === tenantOfClaims(claims) &&
  record.project_id === projectOfClaims(claims) &&
  record.shared_runtime_id === runtimeOfClaims(claims) &&
  (clientOfClaims(claims) ?? record.credential_id) === record.credential_id &&
  record.cnf_jkt === holderOfClaims(claims) &&
  actorsIn(record.act).join() === actorsIn(actOfClaims(claims)).join() &&
  record.audience === claims.aud &&
  record.scope.join(' ') === claims.scope &&
  secondsOf(record.issued_at) === claims.iat &&
  secondsOf(record.expires_at) === claims.exp
