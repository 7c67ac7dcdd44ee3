import { errors, jwtVerify } from 'jose'
import { openCompactJws } from '#ground/kernel/compact-jws.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Fetch } from './fetch-keys.ts'
import { type HumanClaims, humanClaimsOf, refusalOf } from './human-claims.ts'
import { type IssuerSettings, settled } from './issuer-settings.ts'
import { type Clocks, issuerKeys } from './jwks.ts'
import { type Verified, verifiedBefore } from './verified-before.ts'

export type { HumanClaims } from './human-claims.ts'

export type HumanTokens = {
  /** Who the bearer is, or a Problem that does not say why. */
  validate(token: string): Promise<HumanClaims>
  /** What these bytes said, if the key that proved it is still the issuer's and their time is not over. */
  saidBefore(token: string): HumanClaims | undefined
  /** Whether every issuer's keys are at hand; asks for them where they are not. */
  ready(): boolean
  stop(): void
}

export type HumanTokensOptions = Partial<Clocks> & { readonly fetch?: Fetch; readonly timeout_ms?: number }

const invalid = (reason: unknown) => new Problem('token_invalid', undefined, reason instanceof Error ? reason : new Error(String(reason)))

/** Validates access tokens of people. Throws at once when an issuer has no audience: a start without one must fail. */
export const humanTokens = (issuers: readonly IssuerSettings[], options: HumanTokensOptions = {}): HumanTokens => {
  const { fetch = globalThis.fetch, now = Date.now, elapsed = () => performance.now(), timeout_ms } = options
  const known = new Map(
    issuers.map((given) => {
      const settings = settled(given)
      return [settings.issuer, { settings, keys: issuerKeys(settings, fetch, { now, elapsed }, timeout_ms) }]
    }),
  )
  if (known.size !== issuers.length) throw new Error('An OIDC issuer is listed twice.')

  const memory = verifiedBefore<Verified<HumanClaims> & { readonly verified_at: number }>()

  const saidBefore = (token: string): HumanClaims | undefined => {
    const before = memory.find(token)
    if (!before) return undefined
    const at = now()
    if (at < before.verified_at || at >= before.claims.expires_at * 1000) return undefined
    return known.get(before.claims.issuer)?.keys.held(before.kid)?.key === before.key ? before.claims : undefined
  }

  const validate = async (token: string): Promise<HumanClaims> => saidBefore(token) ?? verify(token)

  const verify = async (token: string): Promise<HumanClaims> => {
    const jws = openCompactJws(token)
    if (!jws.ok) throw invalid(jws.reason)
    const { header, claims } = jws
    // Unverified here, and used for nothing but to choose whose keys to ask; the signature then has to agree.
    const issuer = typeof claims.iss === 'string' ? known.get(claims.iss) : undefined
    if (!issuer) throw invalid('unknown issuer')
    const { settings, keys } = issuer
    if (!settings.algorithms.some((algorithm) => algorithm === header.alg)) throw invalid('algorithm is not allowed for this issuer')
    const at = now()
    const refusal = refusalOf(header, claims, settings, Math.floor(at / 1000))
    if (refusal) throw invalid(refusal)

    const found = await keys.find(header.kid)
    if (!found) throw invalid('unknown key')
    if (!found.algorithms.includes(header.alg)) throw invalid('the key is not for this algorithm')
    try {
      const { payload } = await jwtVerify(token, found.key, {
        algorithms: [header.alg],
        issuer: settings.issuer,
        audience: settings.audience,
        clockTolerance: settings.clock_skew_seconds,
        currentDate: new Date(at),
      })
      const said = humanClaimsOf(payload, settings)
      memory.remember(token, { kid: header.kid, key: found.key, verified_at: at, claims: said })
      return said
    } catch (error) {
      // The signature comes first and refusalOf came before it, so only the time is left to be wrong.
      if (error instanceof errors.JWTExpired) throw new Problem('token_expired', undefined, new Error('exp has passed'))
      // The library's errors carry the claims, which have no place in a log.
      throw invalid(error instanceof errors.JOSEError ? error.code : error)
    }
  }

  return {
    validate,
    saidBefore,
    ready: () => [...known.values()].map(({ keys }) => keys.ready()).every(Boolean),
    stop: () => {
      for (const { keys } of known.values()) keys.stop()
    },
  }
}
