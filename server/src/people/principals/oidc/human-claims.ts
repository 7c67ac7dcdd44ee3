import type { Claims, JwsHeader } from '#ground/kernel/compact-jws.ts'
import type { Issuer } from './issuer-settings.ts'

export type HumanClaims = {
  readonly issuer: string
  readonly subject: string
  readonly username: string | null
  readonly email: string | null
  readonly email_verified: boolean
  readonly issued_at: number
  readonly expires_at: number
}

/** Postgres cannot keep NUL, and a lone surrogate would be kept as another person's character. */
const isPlainText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= 255 && value.isWellFormed() && !/\p{Cc}/u.test(value)

const isInstant = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

const mediaType = (typ: string | undefined) => typ?.toLowerCase().replace(/^application\//, '')

const audiences = (aud: unknown): readonly unknown[] => (Array.isArray(aud) ? aud : [aud])

const typeRefusal = ({ typ }: JwsHeader, claims: Claims, { profile }: Issuer): string | undefined => {
  if (profile === 'rfc9068') return mediaType(typ) === 'at+jwt' ? undefined : 'header typ is not at+jwt'
  if (mediaType(typ) !== 'jwt') return 'header typ is not JWT'
  // Keycloak signs ID, refresh and logout tokens with the same key; only this member tells them apart.
  return claims.typ === 'Bearer' ? undefined : 'payload typ is not Bearer'
}

/** Why these claims are no access token for us, or undefined. `exp` is held against the clock later, when all else is known to be right. */
export const refusalOf = (header: JwsHeader, claims: Claims, settings: Issuer, nowSeconds: number): string | undefined => {
  const { sub, exp, iat, nbf, aud } = claims
  const latest = nowSeconds + settings.clock_skew_seconds
  const wrongType = typeRefusal(header, claims, settings)
  if (wrongType) return wrongType
  const ofIdToken = ['nonce', 'at_hash', 'c_hash'].find((claim) => Object.hasOwn(claims, claim))
  if (ofIdToken) return `carries ${ofIdToken}, so it is an ID token`
  // Bound to a key whose possession we do not ask to be proven: taking it as a bearer token would undo the binding.
  if (Object.hasOwn(claims, 'cnf')) return 'is sender-constrained'
  if (!audiences(aud).every((one) => typeof one === 'string') || !audiences(aud).includes(settings.audience))
    return 'is for another audience'
  if (!isPlainText(sub)) return 'sub is not usable'
  if (!isInstant(exp)) return 'exp is not an instant'
  if (!isInstant(iat)) return 'iat is not an instant'
  if (exp <= iat) return 'ends before it begins'
  if (iat > latest) return 'iat is in the future'
  if (nbf !== undefined && !isInstant(nbf)) return 'nbf is not an instant'
  if (nbf !== undefined && nbf > latest) return 'is not valid yet'
  return undefined
}

/** Only of verified claims that `refusalOf` had nothing against. */
export const humanClaimsOf = (claims: Claims, { issuer, username_claim, email_claim }: Issuer): HumanClaims => {
  const username = claims[username_claim]
  const email = isPlainText(claims[email_claim]) ? claims[email_claim] : null
  return {
    issuer,
    subject: claims.sub as string,
    username: isPlainText(username) ? username : null,
    email,
    // `email_verified` vouches for the claim `email` and for no other that may be configured in its place.
    email_verified: email !== null && email_claim === 'email' && claims.email_verified === true,
    issued_at: claims.iat as number,
    expires_at: claims.exp as number,
  }
}
