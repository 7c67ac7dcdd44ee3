import type { attacksOnIssuer } from './attacks-on-issuer.ts'
import type { attacksOnOperators } from './attacks-on-operators.ts'
import type { attacksOnValidator } from './attacks-on-validator.ts'

/** A piece of the product's text, and what stands there instead. */
export interface Change {
  readonly file: string
  readonly find: string
  readonly replace: string
}

const inside = (file: string, find: string, replace: string): Change => ({ file: `server/src/${file}.ts`, find, replace })

const algorithmOfHeader = inside(
  'machines/tokens/verify-token',
  'const key = keyAt(keys, header.kid, now)',
  'const key = { ...keyAt(keys, header.kid, now), alg: header.alg as never }',
)
const publicKeyAsSecret = (exported: string) =>
  inside(
    'machines/tokens/signature',
    `key.type === 'secret' && timingSafeEqual(createHmac('sha256', key)`,
    `timingSafeEqual(createHmac('sha256', key.type === 'secret' ? key : ${exported})`,
  )

const anyHeader = [
  inside(
    'ground/kernel/compact-jws',
    `const forbidden = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'zip']`,
    'const forbidden: string[] = []',
  ),
  inside(
    'machines/tokens/verify-token',
    `if (!isExactly(members, ['alg', 'kid', 'typ'])) throw invalid('the header has not exactly its members')`,
    '',
  ),
]
const namedInHeader = `JSON.parse(Buffer.from(token.split('.', 1)[0]!, 'base64url').toString())`

const anything = 'Type.Optional(Type.Any())'
/** A claim that nobody looks at: neither its kind, nor whether the record says the same. */
const unchecked = (shape: readonly [find: string, replace: string], compared: string, instead = ''): Change[] => [
  inside('machines/tokens/token-claims', ...shape),
  inside('machines/tokens/live-token', compared, instead),
]
const ofServiceAccount = `actor_type: Type.Literal('service_account'), org_id: Uuid, project_id: Uuid })`
const classShape = (changed: string): readonly [string, string] => [ofServiceAccount, changed]

/** How a disabled runtime is told, both ways. */
const disabledRuntime = `r.state = 'disabled' as is_disabled,
    r.state <> 'disabled' and o.id is not null`

const fallingBack = (key: string, chain: string, value: string) =>
  inside(
    'machines/tokens/credential-gate',
    `policyIn(${key}, ${chain})`,
    `(() => { try { return policyIn(${key}, ${chain}) } catch { return ${value} } })()`,
  )

const notMetByTheRow = inside(
  'rails/http/idempotency',
  'if (operation.is_secret_reply) throw',
  'if (operation.is_secret_reply) return undefined\n  throw',
)

type AttackName = keyof typeof attacksOnValidator | keyof typeof attacksOnIssuer | keyof typeof attacksOnOperators

/** By the attack that must find them: what is broken, and how. A rule that has a second one behind it is broken with that one. */
export const faults: Readonly<Record<AttackName, Readonly<Record<string, readonly Change[]>>>> = {
  'TI-15 T2 key confusion': {
    'the algorithm is the header’s, and a public key in PEM is a secret': [
      algorithmOfHeader,
      publicKeyAsSecret(`(key.export({ format: 'pem', type: 'spki' }) as string)`),
    ],
    'the algorithm is the header’s, and a public key as JWK is a secret': [
      algorithmOfHeader,
      publicKeyAsSecret(`JSON.stringify(key.export({ format: 'jwk' }))`),
    ],
  },
  'TI-15 T3 header-borne keys': {
    'a key in the header is used': [
      ...anyHeader,
      inside('machines/tokens/verify-token', `import type { KeyObject } from`, `import { createPublicKey, type KeyObject } from`),
      inside(
        'machines/tokens/verify-token',
        'isSignedWith(key, signed, signature)',
        `isSignedWith(${namedInHeader}.jwk ? { alg: 'ES256', key: createPublicKey({ key: ${namedInHeader}.jwk, format: 'jwk' }) } : key, signed, signature)`,
      ),
    ],
    'a key is fetched from where the header says': [
      ...anyHeader,
      inside(
        'machines/tokens/verify-token',
        'const key = keyAt(keys, header.kid, now)',
        `if (${namedInHeader}.jku) fetch(${namedInHeader}.jku).catch(() => {})\n  const key = keyAt(keys, header.kid, now)`,
      ),
    ],
  },
  'TI-15 T6 sub': {
    'sub is not looked at': unchecked(['  sub: Uuid,\n  iss', `  sub: ${anything},\n  iss`], 'record.actor_id === claims.sub &&'),
    'sub is not compared with the record': [inside('machines/tokens/live-token', 'record.actor_id === claims.sub &&', '')],
  },
  'TI-15 T6 actor_type': {
    'actor_type is not looked at': unchecked(
      classShape(`actor_type: ${anything}, org_id: Uuid, project_id: Uuid })`),
      'record.actor_type === claims.actor_type &&',
    ),
  },
  'TI-15 T6 iss': {
    'iss is not looked at': [
      inside('machines/tokens/token-claims', '  iss: Type.String({ minLength: 1 }),', `  iss: ${anything},`),
      inside('machines/tokens/verify-token', `if (claims.iss !== issuer) throw invalid('is of another issuer')`, ''),
      inside('process/wiring', 'issuerNamedBy(shown.token) === issuer.url', `!String(issuerNamedBy(shown.token)).startsWith('http://127')`),
    ],
  },
  'TI-15 T6 aud': {
    'of several audiences ours is enough': [
      inside('machines/tokens/token-claims', '  aud: Type.String({ minLength: 1 }),', `  aud: ${anything},`),
      inside('machines/tokens/verify-token', 'claims.aud !== audience', '![claims.aud].flat().includes(audience)'),
      inside('machines/tokens/live-token', 'record.audience === claims.aud &&', ''),
    ],
  },
  'TI-15 T6 iat': {
    'iat is not looked at': unchecked(['  iat: Seconds,', `  iat: ${anything},`], 'secondsOf(record.issued_at) === claims.iat', 'true'),
    'iat is not compared with the record': [inside('machines/tokens/live-token', 'secondsOf(record.issued_at) === claims.iat', 'true')],
  },
  'TI-15 T6 exp': {
    'exp is not looked at': unchecked(['  exp: Seconds,', `  exp: ${anything},`], 'secondsOf(record.expires_at) === claims.exp', 'true'),
    'exp is not compared with the record': [inside('machines/tokens/live-token', 'secondsOf(record.expires_at) === claims.exp', 'true')],
  },
  'TI-15 T6 jti': {
    'jti has two spellings': unchecked(['  jti: Uuid,', '  jti: Type.String(),'], 'record.id === claims.jti &&'),
  },
  'TI-15 T6 scope': {
    'scope is not looked at': unchecked(['  scope: Scope,', `  scope: ${anything},`], `record.scope.join(' ') === claims.scope &&`),
    'scope is not compared with the record': [inside('machines/tokens/live-token', `record.scope.join(' ') === claims.scope &&`, '')],
  },
  'TI-15 T6 org_id': {
    'org_id is not looked at': [
      ...unchecked(
        classShape(`actor_type: Type.Literal('service_account'), org_id: ${anything}, project_id: Uuid })`),
        'record.org_id === tenantOfClaims(claims) &&',
      ),
      inside(
        'machines/tokens/live-token-queries',
        'join issued_tokens t on t.id = asked.id and t.org_id is not distinct from asked.org_id',
        'join issued_tokens t on t.id = asked.id',
      ),
    ],
  },
  'TI-15 T6 project_id': {
    'project_id is not looked at': unchecked(
      classShape(`actor_type: Type.Literal('service_account'), org_id: Uuid, project_id: ${anything} })`),
      'record.project_id === projectOfClaims(claims) &&',
    ),
  },
  'TI-15 T6 time': {
    'a token does not end': [inside('machines/tokens/verify-token', 'if (seconds >= exp)', 'if (false)')],
    'a token begins early': [inside('machines/tokens/verify-token', 'if (iat > seconds + skew_seconds)', 'if (false)')],
  },
  'TI-15 T7 audience': {
    'a token for anybody is one for us': [inside('machines/tokens/verify-token', 'audience !== null && claims.aud !== audience', 'false')],
  },
  'TI-15 T7 type': {
    'one class is as good as another': [
      inside('machines/tokens/token-claims', 'byType.get(typ)?.Check(claims)', '[...byType.values()].some((each) => each.Check(claims))'),
    ],
    'the type is not compared with the record': [
      inside('machines/tokens/token-claims', 'byType.get(typ)?.Check(claims)', `byType.get(typ) && byType.get('sa+jwt')!.Check(claims)`),
      inside('machines/tokens/live-token', 'record.typ === typ &&', ''),
    ],
  },
  'TI-15 T8 class': {
    'the class is what the claims say': [
      inside('machines/tokens/live-token', 'record.actor_type === claims.actor_type &&', ''),
      inside('machines/tokens/live-token-queries', `on t.actor_type = 'service_account' and s.id`, 'on s.id'),
      inside(
        'machines/tokens/identify-machine',
        'const { found } = await read(shown.token, fresh)',
        `const found = { ...(await read(shown.token, fresh)).found, actor_type: 'service_account' as const }`,
      ),
    ],
    'a claim more does not matter': [
      inside('machines/tokens/token-claims', 'service_account: Exactly({', 'service_account: Type.Object({'),
      inside('machines/tokens/live-token', 'record.shared_runtime_id === runtimeOfClaims(claims) &&', ''),
    ],
  },
  'TI-15 record': {
    'no record is asked for': [
      inside(
        'machines/tokens/identify-machine',
        `if (!found) throw invalid('was never issued')`,
        `if (!found) { const { jti: id, sub: actor_id, scope, ...said } = claims; return { ...said, id, actor_id, scope: scope.split(' '), cnf_jkt: null, act: null } as never }`,
      ),
    ],
    'the record is not compared': [
      inside(
        'machines/tokens/identify-machine',
        `if (!isOfRecord(typ, kid, claims, found)) throw invalid('says something else than its record')`,
        '',
      ),
    ],
    'the key is not compared with the record': [inside('machines/tokens/live-token', 'record.kid === kid &&', '')],
    'a restored backup revives tokens': [inside('machines/tokens/live-token', 'record.epoch !== installation_epoch', 'false')],
  },
  'TI-16 revoked': { 'a revoked token goes on': [inside('machines/tokens/live-token', 'record.revoked_at !== null', 'false')] },
  'TI-16 cut off with its actor': { 'cut-offs do not count': [inside('machines/tokens/live-token', 'record.is_cut_off', 'false')] },
  'TI-16 cut off with its credential': {
    'cut-offs of credentials do not count': [
      inside('machines/tokens/live-token-queries', `when 'credential' then c.subject_id = t.credential_id end`, 'end'),
    ],
  },
  'TI-16 credential revoked': {
    'a revoked credential counts': [inside('machines/tokens/live-token', ' || record.credential_revoked_at !== null', '')],
  },
  'TI-16 credential expired': {
    'an expired credential counts': [inside('machines/tokens/live-token', 'isOver(record.credential_expires_at, now)', 'false')],
  },
  'TI-16 account deleted': {
    'a deleted account counts': [inside('machines/tokens/live-token', ` || record.actor_state === 'deleted'`, '')],
  },
  'TI-16 organization suspended': {
    'a suspended organization counts': [inside('machines/tokens/live-token', `record.organization_state !== 'active'`, 'false')],
  },
  'TI-16 project archived': {
    'an archived project counts': [inside('machines/tokens/live-token', `record.project_state !== 'active'`, 'false')],
  },
  'TI-07 T12 lifetime': {
    'a wish is not capped': [
      inside('machines/tokens/token-policy', 'Math.min(request.ttl_seconds ?? longest, longest)', 'request.ttl_seconds ?? longest'),
    ],
  },
  'TI-07 T12 the platform’s maximum': {
    'the platform has no maximum': [
      inside('machines/tokens/token-policy', 'Math.min(policy.ttl_seconds, policy.max_ttl_seconds)', 'policy.ttl_seconds'),
    ],
  },
  'TI-06 T12 garbled policy': {
    'a lifetime has a fallback': [fallingBack('own_limit', 'chains.own', '3600')],
    'the maximum has a fallback': [fallingBack('max_ttl', 'chains.longest', '3600')],
    'a refusal is not recorded': [
      inside('machines/tokens/issue-token', 'await deny({ caller, trail, payer }, verified, request, error)', ''),
    ],
  },
  'TI-09 T13 scope': {
    'what is not held is granted': [inside('machines/tokens/token-policy', 'held.has(key) && can_carry', 'can_carry')],
    'what is asked for is added to what is held': [
      inside(
        'machines/tokens/token-policy',
        'asked === undefined ? [...held].sort() : normaliseScope(asked)',
        `[...new Set([...held, ...normaliseScope(asked ?? '')])].sort()`,
      ),
    ],
    'a star is everything': [
      inside(
        'machines/tokens/token-policy',
        'const candidates = asked === undefined',
        `const candidates = asked === undefined || asked === '*'`,
      ),
    ],
    'policy does not narrow': [inside('machines/tokens/token-policy', ' && allowed.has(key)', '')],
  },
  'TI-05 T13 summary': {
    'the summary says what was asked for': [
      inside(
        'machines/tokens/issue-token',
        'issued_claims_summary: claims,',
        'issued_claims_summary: { ...claims, scope: request.scope ?? claims.scope },',
      ),
    ],
  },
  'TI-09 T13 what a scope bounds': {
    'a scope bounds nothing': [inside('machines/tokens/identify-machine', 'actions: new Set(scope)', 'actions: null as never')],
  },
  'TI-08 TI-10 T13 assertions': {
    'what is asserted need not be true': [inside('machines/tokens/token-policy', 'if (!isBoundSo(request, bound))', 'if (false)')],
    'any audience is allowed': [inside('machines/tokens/token-policy', 'if (!policy.allowed_audiences.includes(audience))', 'if (false)')],
  },
  'TI-19 T15 asked again': {
    'it is issued again': [
      inside('machines/tokens/issue-token', 'if (key !== undefined) await requireUnanswered', 'if (false) await requireUnanswered'),
      notMetByTheRow,
    ],
    'another body is the same request': [
      inside(
        'machines/tokens/issue-token',
        'requestHash(operation, { params: {}, query: {}, body: same_by })',
        'requestHash(operation, { params: {}, query: {}, body: {} })',
      ),
    ],
    'the token is kept': [inside('rails/http/idempotency', 'operation.is_secret_reply || told === undefined ?', 'told === undefined ?')],
  },
  'TI-19 T15 keys of others': {
    'the key is looked at before the secret': [
      inside(
        'machines/tokens/issue-token',
        'const verified = await verify(',
        `if (key !== undefined) await requireUnanswered(database.reader, { type: 'service_account', id: (same_by as { service_account_id: string }).service_account_id } as never, key, hash)
      const verified = await verify(`,
      ),
    ],
    'a key is everybody’s': [
      inside(
        'rails/http/idempotency-queries',
        ' and expires_at > now()`',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a piece of the product's own text
        ' and expires_at > now() or key = ${key}`',
      ),
    ],
  },
  'TI-19 T15 at once': {
    'whoever comes at the same moment is not met': [notMetByTheRow],
  },
  'TI-18 T18 credential in the address': {
    'nobody looks at the address': [inside('rails/http/server', 'requireNoCredentialInQuery(request.query as object)', '')],
    'only the names in it are looked at': [
      inside('rails/http/read-request', ' || [name, value].flat().some((text) => isCredential(String(text)))', ''),
    ],
  },
  'TI-18 T18 what the log keeps': {
    'it keeps the address': [
      inside('rails/http/observe', '      route,\n      status,', '      route,\n      url: request.url,\n      status,'),
      inside('ground/telemetry/logger-options', 'hooks: { streamWrite: scrub },', ''),
    ],
  },
  'TI-12 a wrong secret': {
    'a guess is not recorded': [inside('machines/tokens/credential-gate', 'if (attempts !== null)', 'if (false)')],
  },
  'TI-26 the owner while others guess': {
    'while somebody guesses nobody is let in': [
      inside('machines/tokens/credential-gate', 'const proved = await prove(', 'const proved = slow.waiting() === 0 && await prove('),
    ],
  },
  'TI-12 where nothing is issued': {
    'nobody asks whether it may be issued': [
      inside(
        'machines/tokens/judge-issuance',
        `throw error instanceof Problem ? refuse(error) : error`,
        'if (!(error instanceof Problem)) throw refuse(error as never)',
      ),
    ],
  },
  'TI-11 keys that have ended': {
    'a revoked key opens': [inside('machines/service-accounts/credential', `if (revoked_at !== null) return 'key_revoked'`, '')],
    // Two guards: that of the key, and that no token outlives it.
    'an expired key opens': [
      inside('machines/service-accounts/credential', `? null : 'key_expired'`, '? null : null'),
      inside('machines/tokens/judge-issuance', 'untilEndOf(credential_ends_at, ', 'untilEndOf(null, '),
    ],
    'a key of a disabled account opens': [
      inside('machines/tokens/verify-service-account', `if (credential.account_state !== 'active')`, 'if (false)'),
    ],
  },
  'TI-15 T7 T8 MI-09 an operator’s class': {
    'one class is as good as another': [
      inside('machines/tokens/token-claims', 'byType.get(typ)?.Check(claims)', '[...byType.values()].some((each) => each.Check(claims))'),
      inside('machines/tokens/live-token', 'record.typ === typ &&', ''),
    ],
    'an access token need not name its client': [
      inside(
        'machines/tokens/token-claims',
        '  ...shapes.shared_runtime_operator.properties,\n  client_id: Uuid,',
        '  ...shapes.shared_runtime_operator.properties,\n  client_id: Type.Optional(Uuid),',
      ),
    ],
  },
  'TI-15 T6 an operator’s binding': {
    'the runtime is not compared with the record': [
      inside('machines/tokens/live-token', 'record.shared_runtime_id === runtimeOfClaims(claims) &&', ''),
    ],
    'a claim more does not matter': [
      inside('machines/tokens/token-claims', 'shared_runtime_operator: Exactly({', 'shared_runtime_operator: Type.Object({'),
      inside('machines/tokens/live-token', 'record.project_id === projectOfClaims(claims) &&', ''),
    ],
    'any credential is its own': [inside('machines/tokens/live-token-queries', ' and c.shared_runtime_id = r.id', '')],
  },
  'TI-16 an operator’s credential revoked': {
    'nobody looks whether it was': [inside('machines/tokens/live-token-queries', 'coalesce(k.revoked_at, c.revoked_at)', 'k.revoked_at')],
  },
  'TI-16 an operator’s credential expired': {
    'nobody looks whether it is over': [
      inside('machines/tokens/live-token-queries', 'coalesce(k.expires_at, c.expires_at)', 'k.expires_at'),
    ],
  },
  'TI-16 a runtime deleted': {
    'a deleted one counts': [
      inside(
        'machines/tokens/live-token-queries',
        `case when r.state in ('disabled', 'deleted') then r.state`,
        `case when false then r.state`,
      ),
    ],
  },
  'TI-16 an operator cut off': {
    'cut-offs of actors do not count': [
      inside('machines/tokens/live-token-queries', `when 'actor' then c.subject_id in (t.actor_id, (t.act ->> 'sub')::uuid)`, ''),
    ],
  },
  'MI-07 a runtime disabled': {
    'it goes on': [inside('rails/authz/operator-standing-queries', disabledRuntime, 'false as is_disabled, o.id is not null')],
  },
  'TI-11 credentials of operators that have ended': {
    'that of a disabled runtime opens': [
      inside('machines/tokens/verify-operator', `if (state === 'disabled' || state === 'deleted')`, 'if (false)'),
      inside('rails/authz/operator-standing-queries', disabledRuntime, 'false as is_disabled, o.id is not null'),
    ],
    'it opens whatever runtime is named': [
      inside(
        'runtimes/operator-credentials/operator-credential-queries',
        'c.id = asked.key_id and c.shared_runtime_id = asked.runtime_id',
        'c.id = asked.key_id',
      ),
    ],
  },
}
