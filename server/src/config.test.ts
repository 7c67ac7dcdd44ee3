import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { configSettings } from '#process/config-settings.ts'
import { ConfigRefused, parseConfig } from './config.ts'

const key = 'k'.repeat(43)
const issuers = JSON.stringify([{ issuer: 'https://id.example', audience: 'gatehouse-api' }])
/** The least that a production start needs. */
const least = {
  GATEHOUSE_OIDC_ISSUERS: issuers,
  GATEHOUSE_KEY_ENCRYPTION_KEYS: `one:${key}`,
  GATEHOUSE_CHECKPOINT_FILE: '/var/lib/gatehouse/checkpoints.jsonl',
  GATEHOUSE_PUBLIC_URL: 'https://gatehouse.example',
  DATABASE_URL: 'postgres://app:hunter2@db.example/gatehouse',
}
const parse = (more: Record<string, string | undefined> = {}) => parseConfig({ ...least, ...more })

const refusal = (more: Record<string, string | undefined>): string => {
  try {
    parse(more)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigRefused)
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

test('HO-03 with the least that it needs the server is a production server on loopback', () => {
  expect(parse()).toMatchObject({
    profile: 'production',
    host: '127.0.0.1',
    port: 8090,
    region: 'local',
    log_level: 'info',
    database_owner_url: null,
    has_lifeline: false,
  })
  expect(parse().issuers).toMatchObject([{ issuer: 'https://id.example', audience: 'gatehouse-api' }])
  expect(parse()).toMatchObject({ checkpoint_seconds: 60, drain_seconds: 0, key_source: { from: 'environment' } })
  expect(parse().database_url.reveal()).toBe(least.DATABASE_URL)
})

test('HO-03 what is given is taken', () => {
  const owner = 'postgresql://owner:hunter3@db.example:6432/gatehouse?sslmode=verify-full'
  const config = parse({
    GATEHOUSE_PROFILE: 'development',
    GATEHOUSE_HOST: '0.0.0.0',
    GATEHOUSE_PORT: '0',
    GATEHOUSE_REGION: 'eu-north-1',
    GATEHOUSE_LOG_LEVEL: 'silent',
    GATEHOUSE_KEY_ENCRYPTION_KEYS: '',
    GATEHOUSE_KEY_ENCRYPTION_KEYS_FILE: '/etc/gatehouse/keys',
    GATEHOUSE_CHECKPOINT_SECONDS: '5',
    GATEHOUSE_DRAIN_SECONDS: '10',
    GATEHOUSE_LIFELINE: 'stdin',
    DATABASE_OWNER_URL: owner,
    PATH: '/usr/bin',
  })
  expect(config).toMatchObject({ profile: 'development', host: '0.0.0.0', port: 0, region: 'eu-north-1', log_level: 'silent' })
  expect(config.has_lifeline).toBe(true)
  expect(config).toMatchObject({ key_source: { from: 'file', path: '/etc/gatehouse/keys' }, checkpoint_seconds: 5, drain_seconds: 10 })
  expect(config.database_owner_url?.reveal()).toBe(owner)
})

test('TI-13 the issuer, and what its keys are made for', () => {
  expect(parse()).toMatchObject({ public_url: 'https://gatehouse.example', token_audience: 'gpuaas-api', token_algorithm: 'ES256' })
  expect(parse({ GATEHOUSE_PROFILE: 'development', GATEHOUSE_PUBLIC_URL: '' }).public_url).toBe('http://localhost:8090')
  expect(refusal({ GATEHOUSE_PUBLIC_URL: 'https://id.example' })).toContain('the two must differ')
  expect(refusal({ GATEHOUSE_PUBLIC_URL: 'https://gatehouse.example/auth' })).toContain('must have no path')
})

test('TI-17 RFC 9700 the public address of production is https', () => {
  expect(refusal({ GATEHOUSE_PUBLIC_URL: 'http://gatehouse.example' })).toContain('must be https in production')
  expect(parse({ GATEHOUSE_PROFILE: 'development', GATEHOUSE_PUBLIC_URL: 'http://gatehouse.example' }).public_url).toContain('http:')
})

test('TI-13 RFC 8725 tokens are signed with ES256 or EdDSA, or with HS256 for the migration, and with nothing else', () => {
  for (const alg of ['ES256', 'EdDSA', 'HS256']) expect(parse({ GATEHOUSE_TOKEN_ALGORITHM: alg }).token_algorithm).toBe(alg)
  for (const alg of ['none', 'RS256', 'PS256', 'ES384', 'es256', 'HS512'])
    expect(refusal({ GATEHOUSE_TOKEN_ALGORITHM: alg })).toContain('GATEHOUSE_TOKEN_ALGORITHM')
})

test('SG-22 nodes have a door of their own, which speaks TLS and nothing else', () => {
  expect(parse().nodes).toEqual({ url: 'https://localhost:8093', host: '127.0.0.1', port: 8093 })
  const given = { GATEHOUSE_NODES_URL: 'https://nodes.example:9443/', GATEHOUSE_NODES_HOST: '0.0.0.0', GATEHOUSE_NODES_PORT: '0' }
  expect(parse(given).nodes).toEqual({ url: 'https://nodes.example:9443', host: '0.0.0.0', port: 0 })
  for (const url of [
    'http://nodes.example',
    'nodes.example',
    'https://a:b@nodes.example',
    'https://nodes.example/x',
    'https://nodes.example?x',
  ])
    expect(refusal({ GATEHOUSE_NODES_URL: url })).toContain('GATEHOUSE_NODES_URL must be an https URL')
})

test('HO-10 GATEHOUSE_METRICS_HOST, _PORT: left out → loopback, a port of their own', () => {
  expect(parse().metrics).toEqual({ host: '127.0.0.1', port: 9464 })
  expect(parse({ GATEHOUSE_METRICS_HOST: '10.0.0.9', GATEHOUSE_METRICS_PORT: '0' }).metrics).toEqual({ host: '10.0.0.9', port: 0 })
})

test('PR-04 GATEHOUSE_TRUSTED_PROXIES: left out → nobody is trusted; given → these and no others', () => {
  const addresses = ['127.0.0.1', '10.0.0.5', '10.0.1.5', 'fd00::1']
  expect(addresses.filter(parse().isTrustedProxy)).toEqual([])
  expect(addresses.filter(parse({ GATEHOUSE_TRUSTED_PROXIES: '10.0.0.0/24, fd00::1' }).isTrustedProxy)).toEqual(['10.0.0.5', 'fd00::1'])
})

test('TI-15 T7 an audience that is left blank is refused, not guessed; one that is left out is the default', () => {
  expect(refusal({ GATEHOUSE_TOKEN_AUDIENCE: '' })).toBe('GATEHOUSE_TOKEN_AUDIENCE must be one word, not blank.')
  expect(parse({ GATEHOUSE_TOKEN_AUDIENCE: undefined }).token_audience).toBe('gpuaas-api')
})

test('TI-14 a transit engine with its token, or none', () => {
  const url = { GATEHOUSE_TRANSIT_URL: 'https://vault.example/' }
  expect(parse().transit).toBeNull()
  expect(refusal(url)).toBe('GATEHOUSE_TRANSIT_URL needs GATEHOUSE_TRANSIT_TOKEN_FILE.')
  const whole = { ...url, GATEHOUSE_TRANSIT_TOKEN_FILE: '/run/token' }
  const settings = { url: 'https://vault.example', token_file: '/run/token', mount: 'transit', key: 'gatehouse', namespace: null }
  expect(parse(whole).transit).toEqual(settings)
  for (const mount of ['/transit', 'a//b', '../sys', 'a/..', 'tran sit'])
    expect(refusal({ ...whole, GATEHOUSE_TRANSIT_MOUNT: mount })).toContain('GATEHOUSE_TRANSIT_MOUNT must be')
})

test('HO-03 an empty setting is one that was not given', () => {
  expect(parse({ GATEHOUSE_PORT: '', DATABASE_OWNER_URL: '' })).toMatchObject({ port: 8090, database_owner_url: null })
  expect(refusal({ DATABASE_URL: '' })).toBe('DATABASE_URL is not set, and there is no default for it.')
})

describe.each(configSettings)('$name', ({ name, default: fallback }) => {
  test(`HO-03 ${name} has ${fallback === null ? 'no default, and must be given' : `the default ${fallback}`}`, () => {
    if (fallback === null) expect(refusal({ [name]: undefined })).toBe(`${name} is not set, and there is no default for it.`)
    // Said and unsaid are the same; a development profile would need other companions.
    // And without keys in the environment they must come from somewhere else.
    const elsewhere = name === 'GATEHOUSE_KEY_ENCRYPTION_KEYS' ? { GATEHOUSE_KEY_ENCRYPTION_KEYS_FILE: '/etc/gatehouse/keys' } : {}
    if (fallback !== null)
      expect(inspect(parse({ ...elsewhere, [name]: fallback }))).toBe(inspect(parse({ ...elsewhere, [name]: undefined })))
  })
})

test.each([
  ['GATEHOUSE_PROFILE', 'prod'],
  ['GATEHOUSE_PROFILE', 'Production'],
  ['GATEHOUSE_PORT', '80 90'],
  ['GATEHOUSE_PORT', '-1'],
  ['GATEHOUSE_PORT', '65536'],
  ['GATEHOUSE_PORT', '8090.5'],
  ['GATEHOUSE_PORT', '0x1f9a'],
  ['GATEHOUSE_NODES_PORT', '65536'],
  ['GATEHOUSE_METRICS_PORT', '65536'],
  ['GATEHOUSE_TRUSTED_PROXIES', '0.0.0.0/0'],
  ['GATEHOUSE_TRUSTED_PROXIES', '::/0'],
  ['GATEHOUSE_TRUSTED_PROXIES', 'proxy.example'],
  ['GATEHOUSE_TRUSTED_PROXIES', '10.0.0.1,'],
  ['GATEHOUSE_TRUSTED_PROXIES', '10.0.0.1 10.0.0.2'],
  ['GATEHOUSE_NODES_URL', 'http://localhost:8093'],
  ['GATEHOUSE_REGION', 'EU:north'],
  ['GATEHOUSE_REGION', 'r'.repeat(33)],
  ['GATEHOUSE_LOG_LEVEL', 'verbose'],
  ['GATEHOUSE_OIDC_ISSUERS', 'https://id.example'],
  ['GATEHOUSE_OIDC_ISSUERS', '[]'],
  ['GATEHOUSE_OIDC_ISSUERS', '[{"issuer":"https://id.example"}]'],
  ['GATEHOUSE_KEY_ENCRYPTION_KEYS', 'hunter2-too-short'],
  ['GATEHOUSE_KEY_ENCRYPTION_KEYS', `hunter2 one:${key}`],
  ['GATEHOUSE_KEY_ENCRYPTION_KEYS', `one:${key},one:${key}`],
  ['GATEHOUSE_PUBLIC_URL', 'http://gatehouse.example'],
  ['GATEHOUSE_PUBLIC_URL', 'https://gatehouse.example/'],
  ['GATEHOUSE_PUBLIC_URL', 'https://hunter2@gatehouse.example'],
  ['GATEHOUSE_PUBLIC_URL', 'https://gatehouse.example?hunter2'],
  ['GATEHOUSE_PUBLIC_URL', 'https://gatehouse.example#'],
  ['GATEHOUSE_PUBLIC_URL', 'gatehouse.example'],
  ['GATEHOUSE_PUBLIC_URL', 'https://gatehouse.example/hunter2'],
  ['GATEHOUSE_PUBLIC_URL', 'https://id.example'],
  ['GATEHOUSE_TOKEN_AUDIENCE', ' '],
  ['GATEHOUSE_TOKEN_AUDIENCE', ''],
  ['GATEHOUSE_TOKEN_ALGORITHM', 'none'],
  ['GATEHOUSE_TOKEN_ALGORITHM', 'RS256'],
  ['GATEHOUSE_TRANSIT_URL', 'http://vault.example'],
  ['GATEHOUSE_TRANSIT_URL', 'https://hunter2@vault.example'],
  ['GATEHOUSE_TRANSIT_URL', 'https://vault.example'],
  ['GATEHOUSE_CHECKPOINT_SECONDS', '0'],
  ['GATEHOUSE_CHECKPOINT_SECONDS', '3601'],
  ['GATEHOUSE_DRAIN_SECONDS', '1.5'],
  ['GATEHOUSE_LIFELINE', 'stdout'],
  ['DATABASE_URL', 'mysql://app:hunter2@db.example/gatehouse'],
  ['DATABASE_URL', 'db.example/hunter2'],
  ['DATABASE_URL', 'postgres://app:hunter2@db.example:port/gatehouse'],
  ['DATABASE_URL', 'postgres://db.example/hunter2'],
  ['DATABASE_OWNER_URL', 'https://owner:hunter2@db.example/gatehouse'],
  ['DATABASE_OWNER_URL', 'none of this, hunter2'],
])('HO-03 %s=%s is refused in one sentence that names the setting and repeats no secret', (name, value) => {
  const sentence = refusal({ [name]: value })
  expect(sentence).toMatch(new RegExp(`^${name}\\b[^\\n]*\\.$`))
  expect(sentence).not.toContain('hunter2')
})

test('HO-03 a name that there is no setting for is refused, so that a misspelt one is noticed', () => {
  expect(refusal({ GATEHOUSE_PROT: '1', GATEHOUSE_CURSORKEY: 'hunter2' })).toBe(
    'There is no setting GATEHOUSE_CURSORKEY, GATEHOUSE_PROT; docs/generated/config.md lists them all.',
  )
  expect(refusal({ GATEHOUSE_PROT: '' })).toContain('GATEHOUSE_PROT')
})

test('HO-03 production refuses a development key', () => {
  const GATEHOUSE_KEY_ENCRYPTION_KEYS = `one:${key},two:development-${key}`
  const sentence = 'GATEHOUSE_KEY_ENCRYPTION_KEYS: A key-encryption key is a development key; production refuses it.'
  expect(refusal({ GATEHOUSE_KEY_ENCRYPTION_KEYS })).toBe(sentence)
  expect(refusal({ GATEHOUSE_PROFILE: 'production', GATEHOUSE_KEY_ENCRYPTION_KEYS })).toBe(sentence)
  expect(parse({ GATEHOUSE_PROFILE: 'development', GATEHOUSE_KEY_ENCRYPTION_KEYS }).profile).toBe('development')
})

test('HO-08 the keys come from exactly one source', () => {
  const none = refusal({ GATEHOUSE_KEY_ENCRYPTION_KEYS: '' })
  expect(none).toContain('Set exactly one of')
  expect(refusal({ GATEHOUSE_KEY_ENCRYPTION_KEYS_COMMAND: '/usr/bin/kms' })).toBe(none)
})

test.each(['http://127.0.0.1:8091', 'https://localhost:8091', 'https://[::1]', 'http://id.example'])(
  'HO-03 production refuses the development provider %s',
  (issuer) => {
    expect(refusal({ GATEHOUSE_OIDC_ISSUERS: JSON.stringify([{ issuer, audience: 'gatehouse-api' }]) })).toMatch(
      /^GATEHOUSE_OIDC_ISSUERS: .*production does not accept\.$/,
    )
  },
)

test('HO-03 one development provider among good ones is one too many', () => {
  const list = [
    { issuer: 'https://id.example', audience: 'gatehouse-api' },
    { issuer: 'http://127.0.0.1:8091', audience: 'gatehouse-api' },
  ]
  expect(refusal({ GATEHOUSE_OIDC_ISSUERS: JSON.stringify(list) })).toContain('on this machine')
})

test('HO-03 whatever prints the configuration prints no secret', () => {
  const config = parse({ DATABASE_OWNER_URL: 'postgres://owner:hunter3@db.example/gatehouse' })
  const deep = { nested: [config] }
  for (const printed of [
    inspect(deep, { depth: 9, showHidden: true }),
    JSON.stringify(deep),
    `${config.database_url}`,
    inspect(config.key_source),
  ]) {
    expect(printed).toContain('[secret]')
    for (const secret of ['hunter2', 'hunter3', key]) expect(printed).not.toContain(secret)
  }
})

test('HO-03 every secret setting is kept as a secret', () => {
  const secret = configSettings.filter(({ is_secret }) => is_secret).map(({ name }) => name)
  expect(secret).toEqual(['GATEHOUSE_KEY_ENCRYPTION_KEYS', 'DATABASE_URL', 'DATABASE_OWNER_URL'])
})
