import Type, { type Static } from 'typebox'
import { Value } from 'typebox/value'
import { asymmetricAlgorithms } from '#ground/kernel/compact-jws.ts'

export type Algorithm = (typeof asymmetricAlgorithms)[number]

export const IssuerSettings = Type.Object(
  {
    issuer: Type.String({ minLength: 1, maxLength: 2000 }),
    audience: Type.String({ minLength: 1, maxLength: 255, pattern: '\\S' }),
    profile: Type.Optional(Type.Union([Type.Literal('rfc9068'), Type.Literal('keycloak')])),
    algorithms: Type.Optional(Type.Array(Type.Enum([...asymmetricAlgorithms]), { minItems: 1, uniqueItems: true })),
    username_claim: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    email_claim: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    jwks_refresh_seconds: Type.Optional(Type.Integer({ minimum: 10, maximum: 86_400 })),
    jwks_max_age_seconds: Type.Optional(Type.Integer({ minimum: 10, maximum: 86_400 })),
    clock_skew_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 120 })),
  },
  { additionalProperties: false },
)
export type IssuerSettings = Static<typeof IssuerSettings>

/** The same with every choice made. */
export type Issuer = Required<IssuerSettings>

export const isLoopback = ({ hostname }: URL): boolean =>
  /^(localhost|.+\.localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])\.?$/.test(hostname)

const refuse = (issuer: string, why: string): never => {
  throw new Error(`OIDC issuer ${JSON.stringify(issuer)} ${why}.`)
}

const requireFit = (settings: unknown): IssuerSettings => {
  if (Value.Check(IssuerSettings, settings)) return settings
  const named = (settings as { issuer?: unknown } | null)?.issuer
  const audience = (settings as { audience?: unknown } | null)?.audience
  const issuer = typeof named === 'string' ? named : '(unnamed)'
  // Said apart from the rest: without an audience every token of the issuer, for whatever service, would open this door.
  if (audience === undefined || audience === '')
    return refuse(issuer, 'has no audience; name the one its access tokens carry for this server')
  const [error] = Value.Errors(IssuerSettings, settings)
  return refuse(issuer, `does not fit: ${error ? `${error.instancePath || '/'} ${error.message}` : 'unknown shape'}`)
}

/** Throws a sentence unless the settings can be used; fills in what they leave open. */
export const settled = (given: unknown): Issuer => {
  const settings = requireFit(given)
  const issuer: Issuer = {
    profile: 'rfc9068',
    algorithms: [...asymmetricAlgorithms],
    username_claim: 'preferred_username',
    email_claim: 'email',
    jwks_refresh_seconds: 300,
    jwks_max_age_seconds: Math.max(3600, settings.jwks_refresh_seconds ?? 0),
    clock_skew_seconds: 30,
    ...settings,
  }
  if (issuer.jwks_max_age_seconds < issuer.jwks_refresh_seconds)
    refuse(issuer.issuer, 'lets keys die (jwks_max_age_seconds) before they are refreshed (jwks_refresh_seconds)')
  return issuer
}

const requireAddress = ({ issuer }: IssuerSettings, profile: 'development' | 'production') => {
  const url = URL.parse(issuer)
  if (!url || !/^https?:$/.test(url.protocol)) return refuse(issuer, 'is not an https URL')
  if (url.username || url.password || /[?#\s]/.test(issuer)) refuse(issuer, 'must have no credentials, query or fragment')
  if (profile === 'production' && isLoopback(url)) refuse(issuer, 'is on this machine, which production does not accept')
  if (profile === 'production' && url.protocol === 'http:') refuse(issuer, 'is plain http, which production does not accept')
  if (url.protocol === 'http:' && !isLoopback(url)) refuse(issuer, 'is plain http, which is accepted on loopback only')
  return url.href.replace(/\/+$/, '')
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    throw new Error('The list of OIDC issuers is not JSON.')
  }
}

export const parseIssuers = (json: string, profile: 'development' | 'production'): IssuerSettings[] => {
  const list = parsed(json)
  if (!Array.isArray(list) || list.length === 0) throw new Error('The list of OIDC issuers must be a JSON array with at least one issuer.')
  const seen = new Set<string>()
  return list.map((given) => {
    const settings = settled(given)
    const address = requireAddress(settings, profile)
    if (seen.has(address)) refuse(settings.issuer, 'is listed twice')
    seen.add(address)
    return settings
  })
}
