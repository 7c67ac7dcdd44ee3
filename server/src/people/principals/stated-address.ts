import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import type { HumanClaims } from './oidc/human-tokens.ts'
import { type Addressed, lockAddressed, loseAddress, setAddress } from './user-queries.ts'

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

/** An address as invitations compare it: only ASCII has capitals. */
const compared = (email: string | null) => email?.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Former holders of an address do not come to it again because its holder has gone on. */
const giveUp = async (work: Work, { email, email_verified, said_at, id }: Addressed, next: Addressed): Promise<void> => {
  if (email === null || !email_verified || said_at === null) return
  if (next.email_verified && compared(next.email) === compared(email)) return
  const lost = await work.tx.many(loseAddress(systemProof('sign_in', 'platform.admin', {}), { id, email, email_verified, said_at }))
  for (const { id: resource_id } of lost)
    record(work, {
      action: 'user.address',
      resource_type: 'user',
      resource_id,
      metadata: { email_verified: false, reason: 'given_to_another' },
    })
}

/** Takes over what the newest token says: an invitation to the old address is not for this person any more. Returns the `iat` that counts now. */
export const hearAddress = async (work: Work, id: string, claims: HumanClaims): Promise<number> => {
  // Locked and judged again: another process may have heard a newer token since this one read the row.
  const known = await work.tx.one(lockAddressed(id))
  const effect = effectOf(known, claims)
  if (effect === 'ignored') return known.said_at ?? 0
  const said_at = claims.issued_at
  const next =
    effect === 'doubted'
      ? { ...known, email_verified: false, said_at }
      : { id, email: reachable(claims.email), email_verified: claims.email_verified, said_at }
  await giveUp(work, known, next)
  await work.tx.one(setAddress(systemProof('sign_in', 'platform.admin', {}), next))
  if (effect !== 'confirmed')
    record(work, { action: 'user.address', resource_type: 'user', resource_id: id, metadata: { email_verified: next.email_verified } })
  return said_at
}
