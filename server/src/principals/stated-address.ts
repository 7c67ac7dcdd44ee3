import { record } from '../audit/record.ts'
import { systemProof } from '../authz/authorize.ts'
import type { Work } from '../work/work.ts'
import type { HumanClaims } from './oidc/human-tokens.ts'
import { type Addressed, laterHolder, lockAddressed, setAddress, takeAddress } from './user-queries.ts'

// Some providers put placeholders there; nobody can be reached by them.
export const reachable = (email: string | null): string | null => (email !== null && [...email].length >= 3 ? email : null)

type Effect = 'ignored' | 'confirmed' | 'moved' | 'doubted'

/**
 * What a token changes about the address that the row holds. The newest token counts, by `iat`: an older one, which stays valid for a while,
 * would give back an address that the provider has taken away since. Two tokens of one second that disagree have no order, so neither counts
 * as verified. A token without an address changes nothing.
 */
export const effectOf = (known: Addressed, { email, email_verified, issued_at }: HumanClaims): Effect => {
  const said = reachable(email)
  if (said === null) return 'ignored'
  const isSame = said === known.email && email_verified === known.email_verified
  if (known.said_at === null || issued_at > known.said_at) return isSame ? 'confirmed' : 'moved'
  return issued_at < known.said_at || isSame || !known.email_verified ? 'ignored' : 'doubted'
}

/** Who an address is for, as a token says, and when it was issued. */
interface Stated {
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly email_verified: boolean
  readonly said_at: number
}

/**
 * Whether this person holds the address from now on. The newest token of a provider counts, whoever it was given to: it takes the address from
 * former holders, who need not come back to be told; and an older token takes it from nobody. Of two of one second neither counts.
 */
export const settleHolder = async (work: Work, { issuer, subject, email, email_verified, said_at }: Stated): Promise<boolean> => {
  if (email === null || !email_verified) return false
  const claim = { issuer, subject, email, said_at }
  const isLate = (await work.tx.maybe(laterHolder(claim))) !== undefined
  for (const { id } of await work.tx.many(takeAddress(systemProof('sign_in', 'platform.admin', {}), claim)))
    record(work, {
      action: 'user.address',
      resource_type: 'user',
      resource_id: id,
      metadata: { email_verified: false, reason: 'given_to_another' },
    })
  return !isLate
}

/** Takes over what the newest token says: an invitation to the old address is not for this person any more. Returns the `iat` that counts now. */
export const hearAddress = async (work: Work, id: string, claims: HumanClaims): Promise<number> => {
  // Locked and judged again: another process may have heard a newer token since this one read the row.
  const known = await work.tx.one(lockAddressed(id))
  const effect = effectOf(known, claims)
  if (effect === 'ignored') return known.said_at ?? 0
  const said_at = claims.issued_at
  const email = reachable(claims.email)
  const next =
    effect === 'doubted'
      ? { ...known, email_verified: false, said_at }
      : { id, email, email_verified: await settleHolder(work, { ...claims, email, said_at }), said_at }
  await work.tx.one(setAddress(systemProof('sign_in', 'platform.admin', {}), next))
  if (effect !== 'confirmed' || next.email_verified !== known.email_verified)
    record(work, { action: 'user.address', resource_type: 'user', resource_id: id, metadata: { email_verified: next.email_verified } })
  return said_at
}
