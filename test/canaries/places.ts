import { randomUUID } from 'node:crypto'
import { exchangeGrant, tokenTypes } from '../../contract/src/oauth.ts'
import type { Operation } from '../../contract/src/operation.ts'
import { newKeyLine } from '../ssh-key-lines.ts'
import { type Marker, markerDigits, markerText } from './marker.ts'

/** A request with a marker in it. */
export interface Probe {
  readonly marker: Marker
  readonly headers?: Readonly<Record<string, string>>
  /** Null: without the caller's own token. */
  readonly authorization?: string | null
  readonly query?: string
  readonly path?: string
  readonly body?: unknown
  readonly raw?: string
}

/** What a caller writes to be read by others is kept, and shown to those who may read it. */
const asWritten = {
  'table organizations': 'the name that the caller chose',
  'table projects': 'the name that the caller chose',
  'table users': 'the reason that the caller gave',
  'table tenant_memberships': 'the reason that the caller gave',
  'table project_memberships': 'the reason that the caller gave',
  'table tenant_role_bindings': 'the reason that the caller gave',
  'table project_role_bindings': 'the reason that the caller gave',
  'table platform_role_bindings': 'the reason that the caller gave',
  'table role_definitions': 'the reason that the caller gave',
  'table role_definition_versions': 'the reason that the caller gave',
  'table invitations': 'the reason that the caller gave',
  'table policy_values': 'the reason that the caller gave',
  'table policy_constraints': 'the reason that the caller gave',
  'table nodes': 'the reason that the caller gave',
  'table task_signers': 'the reason that the caller gave',
  'table allocations': 'the name that the caller chose',
  'table shared_app_runtimes': 'the reason that the caller gave',
  'table shared_runtime_attachments': 'the reason that the caller gave',
  'table shared_runtime_credentials': 'the name and the reason that the caller gave',
  'table allocation_access_grants': 'the reason that the caller gave',
  'table service_accounts': 'the name and the reason that the caller gave',
  'table ssh_public_keys': 'the name and the reason that the caller gave',
  'table service_account_keys': 'the reason that the caller gave',
  'table signing_keys': 'the reason that the caller gave',
  'table issued_tokens': 'the reason that the caller gave',
  'table token_cutoffs': 'the reason that the caller gave',
  'table audit_logs': 'the record keeps the name and the reason',
  'table idempotency_keys': 'the kept answer holds the name',
  'the files of the database': 'what tables keep, files keep',
  'its own answer': 'the name comes back',
  'other answers': 'who may read the organization, the project or the record reads its words',
}

/** The marker within what looks like one of our secrets, and like a signed token. */
const asSecret = (text: string) => `ghsa_${text.padEnd(49, 'A')}`
const asToken = (text: string) => `eyJhbGciOiJFUzI1NiJ9.${btoa('{}').replaceAll('=', '')}.${text}`

type Place = readonly [
  place: string,
  may: Marker['may'],
  probe: (text: string, body: Readonly<Record<string, unknown>> | undefined) => Omit<Probe, 'marker'> | null,
]

/** What stands in the place of a public SSH key, or beside it. */
const asKeys: readonly (readonly [place: string, spelled: (text: string, line: string) => string])[] = [
  ['a private SSH key', (text) => `-----BEGIN OPENSSH PRIVATE KEY-----\n${text}\n-----END OPENSSH PRIVATE KEY-----\n`],
  ['a private SSH key in one line', (text) => `-----BEGIN OPENSSH PRIVATE KEY----- ${text}`],
  ['the middle of a private SSH key', (text) => text],
  ['a private SSH key called a public one', (text) => `ssh-ed25519 ${btoa(`openssh-key-v1\0${text}`)} me`],
  ['a private key of PuTTY', (text) => `PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n${text}`],
  ['a private key as JSON', (text) => JSON.stringify({ kty: 'OKP', crv: 'Ed25519', d: text })],
  ['a private SSH key with a NUL', (text) => `${text}\0`],
  ['an option of a public SSH key', (text, line) => `command="${text}" ${line}`],
  ['the comment of a public SSH key', (text, line) => `${line.split(' ').slice(0, 2).join(' ')} ${text}`],
]

/** Somebody else's idea of where a secret goes. Null: the operation has no such place. */
const places: readonly Place[] = [
  ['a bearer token that is no token', {}, (text) => ({ authorization: `Bearer ${text}` })],
  ['a bearer token in three parts', {}, (text) => ({ authorization: `Bearer eyJhbGciOiJFUzI1NiJ9.${btoa(text)}.${text}` })],
  ['a password', {}, (text) => ({ authorization: `Basic ${btoa(`ada:${text}`)}` })],
  ['a malformed authorization', {}, (text) => ({ authorization: `Bearer ${text} ${text}` })],
  ['a cookie', {}, (text) => ({ headers: { cookie: `session=${text}` } })],
  ['an API key in a header', {}, (text) => ({ headers: { 'x-api-key': text, 'x-auth-token': text } })],
  ['the address one came from', {}, (text) => ({ headers: { referer: `https://example.com/?token=${text}`, 'user-agent': text } })],
  [
    'what travels with a trace',
    {},
    (text) => ({
      headers: {
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        tracestate: `v=${text}`,
        baggage: `k=${text}`,
      },
    }),
  ],
  ['a project header', {}, (text) => ({ headers: { 'x-project-id': text } })],
  ['an id of the request that is none', {}, (text) => ({ headers: { 'x-request-id': `${text} ${text}` } })],
  ['a content type', {}, (text, body) => (body ? { headers: { 'content-type': `application/json; charset=${text}` } } : null)],
  ['a token in the query', {}, (text) => ({ query: `access_token=${text}` })],
  ['the name of a query member', {}, (text) => ({ query: `${text}=1` })],
  ['a cursor', {}, (text) => ({ query: `cursor=${text}` })],
  ['an id in the path', {}, (text) => ({ path: text })],
  ['a body that is not JSON', {}, (text, body) => (body ? { raw: `token=${text}` } : null)],
  ['half a body', {}, (text, body) => (body ? { raw: `{"reason":"${text}"` } : null)],
  ['a member twice', {}, (text, body) => (body ? { raw: `{"reason":"${text}","reason":"${text}"}` } : null)],
  ['a member that is not known', {}, (text, body) => (body ? { body: { ...body, password: text } } : null)],
  ['the name of a member', {}, (text, body) => (body ? { body: { ...body, [text]: true } } : null)],
  ['a secret as the name of a member', {}, (text, body) => (body ? { body: { ...body, [asSecret(text)]: true } } : null)],
  ['a secret as the name of a query member', {}, (text) => ({ query: asSecret(text) })],
  ['a token as a value in the query', {}, (text) => ({ query: `x=${asToken(text)}` })],
  ['a header in the query', {}, (text) => ({ query: `x=Bearer%20${text}` })],
  ['an array', {}, (text, body) => (body ? { body: { ...body, reason: [text] } } : null)],
  ['an object', {}, (text, body) => (body ? { body: { ...body, reason: { secret: text } } } : null)],
  ['the name of a member within', {}, (text, body) => (body ? { body: { ...body, reason: { [text]: 1 } } } : null)],
  ['a text that is too long', {}, (text, body) => (body ? { body: { ...body, reason: text.repeat(30) } } : null)],
  [
    'a private key with its lines',
    {},
    (text, body) => (body ? { body: { ...body, reason: `-----BEGIN PRIVATE KEY-----\n${text}\n-----END PRIVATE KEY-----` } } : null),
  ],
  ['a private key as a reason', {}, (text, body) => (body ? { body: { ...body, reason: `-----BEGIN PRIVATE KEY----- ${text}` } } : null)],
  ['a secret that is none', {}, (text, body) => (body?.client_secret ? { body: { ...body, client_secret: text } } : null)],
  ['a secret that is left', {}, (text, body) => (body?.secret ? { body: { ...body, secret: text } } : null)],
  [
    'a secret that is left with an idempotency key',
    {},
    (text, body) => (body?.secret ? { headers: { 'idempotency-key': randomUUID() }, body: { ...body, secret: text } } : null),
  ],
  ['a secret that is left under no name', {}, (text, body) => (body?.secret ? { body: { ...body, name: '-', secret: text } } : null)],
  ['a secret that is left in the query', {}, (text, body) => (body?.secret ? { query: `secret=${text}` } : null)],
  ['a list of secrets', {}, (text, body) => (body?.secret ? { body: { ...body, secret: [text] } } : null)],
  ['a wrapping token that is none', {}, (text, body) => (body?.wrapping_token ? { body: { wrapping_token: text } } : null)],
  [
    'a wrapping token with an idempotency key',
    {},
    (text, body) =>
      body?.wrapping_token ? { headers: { 'idempotency-key': randomUUID() }, body: { wrapping_token: `ghwd_${text}` } } : null,
  ],
  ['a bound token that is no token', {}, (text) => ({ authorization: `DPoP ${text}`, headers: { dpop: text } })],
  ['a proof that is none', {}, (text) => ({ headers: { dpop: `eyJhbGciOiJFUzI1NiJ9.${btoa(text)}.${text}` } })],
  [
    'a private key in the place of a public one',
    {},
    (text, body) => (body ? { body: { ...body, public_jwk: { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43), d: text } } } : null),
  ],
  ...asKeys.map(
    ([place, spelled]): Place => [
      place,
      {},
      (text, body) => (body?.public_key ? { body: { ...body, public_key: spelled(text, body.public_key as string) } } : null),
    ],
  ),
  [
    'a private key with an idempotency key',
    {},
    (text, body) =>
      body?.public_key ? { headers: { 'idempotency-key': randomUUID() }, body: { ...body, public_key: asKeys[0]![1](text, '') } } : null,
  ],
  [
    'an assertion that is none',
    {},
    (text, body) =>
      body?.grant_type
        ? { body: { grant_type: body.grant_type, client_assertion: text, client_assertion_type: `urn:ietf:params:oauth:${text}` } }
        : null,
  ],
  ['a secret in the query', {}, (text, body) => (body?.client_secret ? { query: `client_secret=${text}` } : null)],
  ['an audience that is not allowed', {}, (text, body) => (body?.client_secret ? { body: { ...body, audience: text } } : null)],
  ['a scope that is none', {}, (text, body) => (body?.client_secret ? { body: { ...body, scope: `project.read ${text}` } } : null)],
  ['nothing but a scope that is none', {}, (text, body) => (body?.client_secret ? { body: { ...body, scope: text } } : null)],
  [
    'a token to be exchanged',
    {},
    (text, body) =>
      body?.grant_type ? { body: { ...body, grant_type: exchangeGrant, subject_token_type: tokenTypes.jwt, subject_token: text } } : null,
  ],
  ['a token to be looked at', {}, (text, body) => (body?.token ? { body: { ...body, token: text } } : null)],
  ['a type of resource', {}, (text, body) => (body?.client_secret ? { body: { ...body, resource_type: text } } : null)],
  ['a workflow', asWritten, (text, body) => (body?.client_secret ? { body: { ...body, source_workflow_id: text } } : null)],
  ['a reason', asWritten, (text, body) => (body ? { body: { ...body, reason: text } } : null)],
  ['a secret as a reason', {}, (text, body) => (body ? { body: { ...body, reason: `it was ${asSecret(text)}` } } : null)],
  ['a token as a reason', {}, (text, body) => (body ? { body: { ...body, reason: `it was ${asToken(text)}` } } : null)],
  ['a secret as a name', {}, (text, body) => (body?.name ? { body: { ...body, name: asSecret(text) } } : null)],
  ['a secret as a workflow', {}, (text, body) => (body?.client_secret ? { body: { ...body, source_workflow_id: asSecret(text) } } : null)],
  ['a secret as a scope', {}, (text, body) => (body?.client_secret ? { body: { ...body, scope: asSecret(text) } } : null)],
  ['a secret as an idempotency key', {}, (text, body) => (body ? { headers: { 'idempotency-key': asSecret(text) }, body } : null)],
  ['a token as an idempotency key', {}, (text, body) => (body ? { headers: { 'idempotency-key': asToken(text) }, body } : null)],
  ['a secret as the id of the request', {}, (text) => ({ headers: { 'x-request-id': asSecret(text) } })],
  ['a token as the id of the request', {}, (text) => ({ headers: { 'x-correlation-id': asToken(text) } })],
  ['a name', asWritten, (text, body) => (body?.name ? { body: { ...body, name: text } } : null)],
  [
    'an idempotency key',
    { 'table idempotency_keys': 'it is what is kept', 'the files of the database': 'what tables keep, files keep' },
    (text, body) => (body ? { headers: { 'idempotency-key': text }, body } : null),
  ],
  [
    'a well-formed id of the request',
    {
      'its own answer': 'it is echoed',
      'other answers': 'the record shows it',
      'the log': 'it is the correlation id',
      'the traces': 'it is the correlation id',
      'table audit_logs': 'it is the correlation id',
      'the files of the database': 'what tables keep, files keep',
    },
    (text) => ({ headers: { 'x-request-id': text } }),
  ],
]

/** Every place for one operation, each with a marker of its own. */
export const probesFor = ({ id }: Pick<Operation, 'id'>, body: Readonly<Record<string, unknown>> | undefined): Probe[] => [
  ...places.flatMap(([place, may, probe]) => {
    const text = markerText()
    // Each with a key of its own: one that is registered already is refused before it is kept.
    const made = probe(text, body?.public_key ? { ...body, public_key: newKeyLine() } : body)
    return made ? [{ ...made, marker: { place: `${place} (${id})`, text, may } }] : []
  }),
  ...(body ? [markerDigits()].map((text) => ({ marker: { place: `a number (${id})`, text, may: {} }, raw: `{"reason":${text}}` })) : []),
]
