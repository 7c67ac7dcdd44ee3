import { signingAlgorithms } from '@gatehouse/contract/signing-keys'
import { type KeySource, readKeyRing } from '#ground/custody/key-ring.ts'
import { Secret } from '#ground/kernel/secret.ts'
import type { KeyAlgorithm } from '#machines/keys/key-set.ts'
import type { TransitSettings } from '#machines/keys/transit.ts'
import { type IssuerSettings, isLoopback, parseIssuers } from '#people/principals/oidc/issuer-settings.ts'
import { configSettings } from '#process/config-settings.ts'
import { type IsTrusted, trustedProxies } from '#rails/http/source-address.ts'

// The server reads its environment here only.
type Name = (typeof configSettings)[number]['name']

export interface Config {
  readonly profile: 'development' | 'production'
  readonly host: string
  readonly port: number
  readonly nodes: { readonly url: string; readonly host: string; readonly port: number }
  readonly metrics: { readonly host: string; readonly port: number }
  readonly isTrustedProxy: IsTrusted
  readonly region: string
  readonly log_level: string
  readonly issuers: readonly IssuerSettings[]
  readonly key_source: KeySource
  readonly public_url: string
  readonly token_audience: string
  readonly token_algorithm: KeyAlgorithm
  readonly transit: TransitSettings | null
  readonly checkpoint_file: string
  readonly checkpoint_seconds: number
  readonly drain_seconds: number
  readonly database_url: Secret
  readonly database_owner_url: Secret | null
  readonly has_lifeline: boolean
  readonly otlp_endpoint: string | null
}

/** A start that cannot be right ends in one sentence. */
export class ConfigRefused extends Error {
  override readonly name = 'ConfigRefused'
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

const oneOf = <V extends string>(name: Name, value: string, values: readonly V[]): V => {
  if (!(values as readonly string[]).includes(value)) throw new ConfigRefused(`${name} must be one of ${values.join(', ')}.`)
  return value as V
}

const matching = (name: Name, value: string, pattern: RegExp, what: string): string => {
  if (!pattern.test(value)) throw new ConfigRefused(`${name} must be ${what}.`)
  return value
}

/** The role must be in it: what the application may do is granted to that name. */
const databaseUrl = (name: Name, value: string): string => {
  const url = URL.parse(value)
  if (!url?.username || !/^postgres(?:ql)?:$/.test(url.protocol))
    throw new ConfigRefused(`${name} must be a URL of the form postgres://role:password@host:port/database.`)
  return value
}

const issuersFrom = (json: string, profile: Config['profile']) => {
  try {
    return parseIssuers(json, profile)
  } catch (error) {
    throw new ConfigRefused(`GATEHOUSE_OIDC_ISSUERS: ${(error as Error).message}`)
  }
}

const keySourceFrom = (read: (name: Name) => string, profile: Config['profile']): KeySource => {
  const text = read('GATEHOUSE_KEY_ENCRYPTION_KEYS')
  const file = read('GATEHOUSE_KEY_ENCRYPTION_KEYS_FILE')
  const command = read('GATEHOUSE_KEY_ENCRYPTION_KEYS_COMMAND')
  if ([text, file, command].filter((given) => given !== 'none').length !== 1)
    throw new ConfigRefused(
      'Set exactly one of GATEHOUSE_KEY_ENCRYPTION_KEYS, GATEHOUSE_KEY_ENCRYPTION_KEYS_FILE and GATEHOUSE_KEY_ENCRYPTION_KEYS_COMMAND.',
    )
  if (text !== 'none') {
    try {
      readKeyRing(text, profile)
    } catch (error) {
      throw new ConfigRefused(`GATEHOUSE_KEY_ENCRYPTION_KEYS: ${(error as Error).message}`)
    }
    return { from: 'environment', text: new Secret(text) }
  }
  return file === 'none' ? { from: 'command', path: command } : { from: 'file', path: file }
}

/** Compared letter by letter by everybody who verifies a token: it is taken as it is, or not at all. */
const publicUrlFrom = (text: string, profile: Config['profile'], issuers: readonly IssuerSettings[]): string => {
  const name: Name = 'GATEHOUSE_PUBLIC_URL'
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash || /[\s?#]|\/$/.test(text))
    throw new ConfigRefused(`${name} must be an http or https URL without credentials, query, fragment and final slash.`)
  if (url.pathname !== '/') throw new ConfigRefused(`${name} must have no path: its metadata would be looked for elsewhere than they are.`)
  if (profile === 'production' && url.protocol !== 'https:') throw new ConfigRefused(`${name} must be https in production.`)
  if (issuers.some(({ issuer }) => issuer.replace(/\/+$/, '') === text))
    throw new ConfigRefused(`${name} is also an issuer of people’s tokens; the two must differ.`)
  return text
}

const nodesUrlFrom = (text: string): string => {
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' || url.username || url.password || url.search || url.hash || url.pathname !== '/')
    throw new ConfigRefused('GATEHOUSE_NODES_URL must be an https URL without credentials, path, query and fragment.')
  return text.replace(/\/$/, '')
}

const proxiesFrom = (text: string): IsTrusted => {
  const isTrusted = trustedProxies(text === 'none' ? [] : text.split(',').map((range) => range.trim()))
  if (!isTrusted)
    throw new ConfigRefused(
      'GATEHOUSE_TRUSTED_PROXIES must be addresses or CIDR ranges separated by commas, for example 10.0.0.5,fd00::/64; a prefix of 0 would trust everybody.',
    )
  return isTrusted
}

const transitFrom = (read: (name: Name) => string, profile: Config['profile']): TransitSettings | null => {
  const given = read('GATEHOUSE_TRANSIT_URL')
  if (given === 'none') return null
  const url = URL.parse(given)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new ConfigRefused('GATEHOUSE_TRANSIT_URL must be an http or https URL without credentials, query and fragment.')
  if (profile === 'production' && url.protocol !== 'https:' && !isLoopback(url))
    throw new ConfigRefused('GATEHOUSE_TRANSIT_URL must be https in production, or on this machine.')
  const token_file = read('GATEHOUSE_TRANSIT_TOKEN_FILE')
  if (token_file === 'none') throw new ConfigRefused('GATEHOUSE_TRANSIT_URL needs GATEHOUSE_TRANSIT_TOKEN_FILE.')
  const word = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/
  const path = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/
  const namespace = read('GATEHOUSE_TRANSIT_NAMESPACE')
  return {
    url: given.replace(/\/+$/, ''),
    token_file,
    mount: matching('GATEHOUSE_TRANSIT_MOUNT', read('GATEHOUSE_TRANSIT_MOUNT'), path, 'a path without slashes around it'),
    key: matching('GATEHOUSE_TRANSIT_KEY', read('GATEHOUSE_TRANSIT_KEY'), word, 'letters, digits and _ . -'),
    namespace: namespace === 'none' ? null : matching('GATEHOUSE_TRANSIT_NAMESPACE', namespace, path, 'a path without slashes around it'),
  }
}

export const parseConfig = (environment: Readonly<Record<string, string | undefined>>): Config => {
  const known = new Set<string>(configSettings.map(({ name }) => name))
  const unknown = Object.keys(environment).filter((name) => name.startsWith('GATEHOUSE_') && !known.has(name))
  if (unknown.length > 0)
    throw new ConfigRefused(`There is no setting ${unknown.sort().join(', ')}; docs/generated/config.md lists them all.`)

  const read = (name: Name): string => {
    const given = environment[name]
    if (given !== undefined && given !== '') return given
    const { default: fallback } = configSettings.find((setting) => setting.name === name)!
    if (fallback === null) throw new ConfigRefused(`${name} is not set, and there is no default for it.`)
    return fallback
  }

  const profile = oneOf('GATEHOUSE_PROFILE', read('GATEHOUSE_PROFILE'), ['development', 'production'])
  const whole = (name: Name, least: number, most: number): number => {
    const number = Number(matching(name, read(name), /^\d{1,9}$/, `a whole number from ${least} to ${most}`))
    if (number < least || number > most) throw new ConfigRefused(`${name} must be a whole number from ${least} to ${most}.`)
    return number
  }
  // Left out, it is the default; left blank, it is a mistake about whose tokens are taken.
  if (environment.GATEHOUSE_TOKEN_AUDIENCE === '') throw new ConfigRefused('GATEHOUSE_TOKEN_AUDIENCE must be one word, not blank.')
  const isLocal = profile === 'development' && !environment.GATEHOUSE_PUBLIC_URL
  const owner = read('DATABASE_OWNER_URL')
  const issuers = issuersFrom(read('GATEHOUSE_OIDC_ISSUERS'), profile)
  const collector = read('OTEL_EXPORTER_OTLP_ENDPOINT')
  return {
    profile,
    host: read('GATEHOUSE_HOST'),
    port: whole('GATEHOUSE_PORT', 0, 65_535),
    nodes: {
      url: nodesUrlFrom(read('GATEHOUSE_NODES_URL')),
      host: read('GATEHOUSE_NODES_HOST'),
      port: whole('GATEHOUSE_NODES_PORT', 0, 65_535),
    },
    metrics: { host: read('GATEHOUSE_METRICS_HOST'), port: whole('GATEHOUSE_METRICS_PORT', 0, 65_535) },
    isTrustedProxy: proxiesFrom(read('GATEHOUSE_TRUSTED_PROXIES')),
    region: matching('GATEHOUSE_REGION', read('GATEHOUSE_REGION'), /^[a-z0-9-]{1,32}$/, 'lower-case letters, digits and hyphens'),
    log_level: oneOf('GATEHOUSE_LOG_LEVEL', read('GATEHOUSE_LOG_LEVEL'), levels),
    issuers,
    key_source: keySourceFrom(read, profile),
    public_url: publicUrlFrom(isLocal ? 'http://localhost:8090' : read('GATEHOUSE_PUBLIC_URL'), profile, issuers),
    token_audience: matching('GATEHOUSE_TOKEN_AUDIENCE', read('GATEHOUSE_TOKEN_AUDIENCE'), /^\S{1,255}$/, 'one word'),
    token_algorithm: oneOf('GATEHOUSE_TOKEN_ALGORITHM', read('GATEHOUSE_TOKEN_ALGORITHM'), signingAlgorithms),
    transit: transitFrom(read, profile),
    checkpoint_file: read('GATEHOUSE_CHECKPOINT_FILE'),
    checkpoint_seconds: whole('GATEHOUSE_CHECKPOINT_SECONDS', 1, 3600),
    drain_seconds: whole('GATEHOUSE_DRAIN_SECONDS', 0, 300),
    database_url: new Secret(databaseUrl('DATABASE_URL', read('DATABASE_URL'))),
    database_owner_url: owner === 'none' ? null : new Secret(databaseUrl('DATABASE_OWNER_URL', owner)),
    has_lifeline: oneOf('GATEHOUSE_LIFELINE', read('GATEHOUSE_LIFELINE'), ['none', 'stdin']) === 'stdin',
    otlp_endpoint:
      collector === 'none' ? null : matching('OTEL_EXPORTER_OTLP_ENDPOINT', collector, /^https?:\/\/[^\s/]/, 'an http or https URL'),
  }
}
