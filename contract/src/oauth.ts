import Type, { type Static, type TProperties } from 'typebox'
import { actorTypes, operation } from './operation.ts'
import { Exactly, Id, OneOf } from './shapes.ts'

/** As RFC 8693 calls them. */
export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const tokenTypes = {
  access_token: 'urn:ietf:params:oauth:token-type:access_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
} as const

/** The fields of a form. Others may be there and are not looked at, as OAuth wants it. */
const Form = <P extends TProperties>(properties: P) => Type.Object(properties)

const field = (maxLength: number, description: string) => Type.Optional(Type.String({ minLength: 1, maxLength, description }))

/** How a client says who it is, unless it does so in the header. */
const client = {
  client_id: field(200, 'The id of a service account’s key, or of an operator’s credential. Not needed where the header says it.'),
  client_secret: field(200, 'Its secret (`client_secret_post`), unless it is in the header (`client_secret_basic`).'),
  client_assertion: field(8192, 'A JWT that the client signed with the key whose public part is registered (`private_key_jwt`, RFC 7523).'),
  client_assertion_type: field(200, '`urn:ietf:params:oauth:client-assertion-type:jwt-bearer`.'),
}
export type ClientForm = Static<ReturnType<typeof Form<typeof client>>>

const TokenForm = Form({
  grant_type: Type.String({ minLength: 1, maxLength: 200, description: `\`client_credentials\` or \`${exchangeGrant}\`.` }),
  ...client,
  scope: field(8192, 'Permission keys with spaces between them. Without it: all that the account holds now.'),
  audience: field(200, 'For whom the token is; one, and an allowed one.'),
  resource: field(200, 'The same as `audience`, by the name of RFC 8707.'),
  subject_token: field(
    8192,
    'In an exchange (RFC 8693): a token of an account of the client’s own project, to get one that holds as much or less of it.',
  ),
  subject_token_type: field(200, `\`${tokenTypes.access_token}\`, or \`${tokenTypes.jwt}\` for the same.`),
  requested_token_type: field(200, `\`${tokenTypes.access_token}\`; nothing else is issued.`),
  actor_token: field(8192, 'Refused: who acts is the client.'),
  actor_token_type: field(200, 'Refused, as well.'),
})
export type TokenForm = Static<typeof TokenForm>

export const TokenReply = Exactly({
  access_token: Type.String({
    description:
      'A JWT of the type `at+jwt` (RFC 9068). A resource server may rely on `iss`, `aud`, `sub`, `client_id`, `actor_type`, `org_id`, `project_id` (of an operator `shared_runtime_id` instead), `scope`, `iat`, `exp` and `jti`, and on `cnf` and `act` where they are there, after it has verified signature, type, issuer, audience and time; whether the token was revoked since, only introspection says. To whoever asked for the token it is an opaque text.',
  }),
  token_type: OneOf(['Bearer', 'DPoP']),
  expires_in: Type.Integer(),
  scope: Type.String({ description: 'What was granted.' }),
  issued_token_type: Type.Optional(Type.Literal(tokenTypes.access_token, { description: 'In an exchange.' })),
})
export type TokenReply = Static<typeof TokenReply>

export const issueOAuthToken = operation({
  id: 'oauth.token.issue',
  recorded_as: 'auth.token.issue',
  method: 'POST',
  path: '/oauth2/token',
  summary: 'The token endpoint of OAuth 2.0 (RFC 6749) for machines.',
  description:
    'A client is a key of a service account, or a credential of a shared runtime’s operator: its `client_id` is the id of that, its `client_secret` the secret that was shown when it was made. The token is the account’s, or the operator’s. In an exchange it is that of the account whose token is brought, never more than that token, and ends with it; where another account brings it, `act` names that one.',
  actors: ['service_account', 'shared_runtime_operator'],
  action: ['auth.token.issue', 'shared_runtime.token.issue'],
  effect: 'change',
  body: TokenForm,
  reply: TokenReply,
  is_secret_reply: true,
  identified_by: 'credential',
  speaks: 'oauth',
  problems: ['unsupported_grant_type', 'invalid_scope', 'invalid_target', 'subject_token_invalid'],
})

const token = Type.String({ minLength: 1, maxLength: 8192, description: 'The token in question.' })
const hint = field(200, 'Of which type it may be; not needed, and not looked at.')

export const Introspection = Type.Object(
  {
    active: Type.Boolean(),
    scope: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String()),
    token_type: Type.Optional(OneOf(['Bearer', 'DPoP'])),
    exp: Type.Optional(Type.Integer()),
    iat: Type.Optional(Type.Integer()),
    sub: Type.Optional(Id('actor')),
    aud: Type.Optional(Type.String()),
    iss: Type.Optional(Type.String()),
    jti: Type.Optional(Id('token')),
    actor_type: Type.Optional(OneOf(actorTypes)),
    org_id: Type.Optional(Id('organization')),
    project_id: Type.Optional(Id('project')),
    shared_runtime_id: Type.Optional(Id('shared runtime')),
    cnf: Type.Optional(
      Exactly({ jkt: Type.String({ description: 'The thumbprint of the key whose holder alone may use it (RFC 9449).' }) }),
    ),
    act: Type.Optional(
      Type.Object(
        { sub: Id('actor') },
        { additionalProperties: true, description: 'Who acts for `sub`, and within it, under the same name, for whom in turn (RFC 8693).' },
      ),
    ),
  },
  { additionalProperties: false, description: 'Where `active` is false, it is the only member.' },
)

export const introspectToken = operation({
  id: 'oauth.token.introspect',
  method: 'POST',
  path: '/oauth2/introspect',
  summary: 'Whether a token counts at this moment, and what it says (RFC 7662).',
  description:
    'For machines of the tenant that the token was issued in, whatever audience it is for. Of any other token, and of one that is unknown, expired, revoked or ended with its account, key, project or organization, nothing is said but that it is not active.',
  actors: ['service_account'],
  action: 'auth.token.introspect',
  effect: 'read',
  body: Form({ token, token_type_hint: hint, ...client }),
  reply: Introspection,
  is_decision: true,
  identified_by: 'client',
  speaks: 'oauth',
  problems: [],
})

export const revokeOAuthToken = operation({
  id: 'oauth.token.revoke',
  recorded_as: 'auth.token.revoke',
  method: 'POST',
  path: '/oauth2/revoke',
  summary: 'End a token of one’s own at once and for good (RFC 7009).',
  description:
    'Of the client’s own account, by whichever of its keys it was issued, or issued to it to act for another. For any other text the answer is the same and nothing happens.',
  actors: ['service_account'],
  action: 'auth.token.revoke_own',
  effect: 'change',
  body: Form({ token, token_type_hint: hint, ...client }),
  success: 200,
  identified_by: 'client',
  speaks: 'oauth',
  problems: [],
})
