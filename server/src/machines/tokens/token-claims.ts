import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Claims } from '#ground/kernel/compact-jws.ts'
import type { Act } from '#ground/work/work.ts'
import { most_acting } from './act.ts'
import { accessTokenType, type MachineClass, typeOf } from './machine-class.ts'

/** As the database spells one: a second spelling would be a second token. */
const Uuid = Type.String({ pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })
const Seconds = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Scope = Type.String({ pattern: '^[a-z][a-z0-9_.]*(?: [a-z][a-z0-9_.]*)*$', maxLength: 8192 })
const Word = Type.String({ pattern: '^[A-Za-z0-9_.:-]{1,200}$' })

const Thumbprint = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })

const everyClass = {
  sub: Uuid,
  iss: Type.String({ minLength: 1 }),
  aud: Type.String({ minLength: 1 }),
  iat: Seconds,
  exp: Seconds,
  jti: Uuid,
  scope: Scope,
}

const shapes = {
  service_account: Exactly({ ...everyClass, actor_type: Type.Literal('service_account'), org_id: Uuid, project_id: Uuid }),
  shared_runtime_operator: Exactly({
    ...everyClass,
    actor_type: Type.Literal('shared_runtime_operator'),
    org_id: Uuid,
    shared_runtime_id: Uuid,
  }),
  workload: Exactly({
    ...everyClass,
    actor_type: Type.Literal('workload'),
    org_id: Uuid,
    project_id: Uuid,
    app_instance_id: Uuid,
    workload_id: Type.Optional(Uuid),
    storage_attachment_ids: Type.Optional(Type.Array(Uuid)),
  }),
  node_agent: Exactly({
    ...everyClass,
    actor_type: Type.Literal('node_agent'),
    node_id: Uuid,
    cnf: Exactly({ 'x5t#S256': Thumbprint }),
  }),
  platform_operator: Exactly({
    ...everyClass,
    actor_type: Type.Literal('platform_operator'),
    platform_role: Word,
    target_type: Word,
    target_id: Uuid,
  }),
} satisfies Record<MachineClass, unknown>

const chainOf = (length: number): TSchema => Exactly({ sub: Uuid, ...(length > 1 ? { act: Type.Optional(chainOf(length - 1)) } : {}) })

/** What only an access token of OAuth says: which client it was issued to; and if anybody, whose proof must come along, and who acts. */
const AccessToken = Exactly({
  ...shapes.service_account.properties,
  client_id: Uuid,
  cnf: Type.Optional(Exactly({ jkt: Thumbprint })),
  act: Type.Optional(Type.Unsafe<Act>(chainOf(most_acting))),
})

/** No operator acts for another. */
const OperatorAccessToken = Exactly({
  ...shapes.shared_runtime_operator.properties,
  client_id: Uuid,
  cnf: Type.Optional(Exactly({ jkt: Thumbprint })),
})

type ClassClaims = { [C in MachineClass]: Static<(typeof shapes)[C]> }[MachineClass]
export type TokenClaims = ClassClaims | Static<typeof AccessToken> | Static<typeof OperatorAccessToken>

const byType: ReadonlyMap<string, { Check(value: unknown): boolean }> = new Map([
  ...Object.entries(shapes).map(([name, shape]): [string, { Check(value: unknown): boolean }] => [
    typeOf[name as MachineClass],
    Compile(shape),
  ]),
  [accessTokenType, Compile(Type.Union([AccessToken, OperatorAccessToken]))],
])

/** The claims, if they are exactly those of the class that the header's type names: none missing, none more, each of its kind. */
export const tokenClaimsOf = (typ: string | undefined, claims: Claims): TokenClaims | undefined =>
  typ !== undefined && byType.get(typ)?.Check(claims) ? (claims as TokenClaims) : undefined

/** In whose tenant a token was issued; null for one that belongs to the platform. */
export const tenantOfClaims = (claims: TokenClaims): string | null => ('org_id' in claims ? claims.org_id : null)
/** The client that a token was issued to; undefined where it does not say. */
export const clientOfClaims = (claims: TokenClaims): string | undefined => ('client_id' in claims ? claims.client_id : undefined)
/** The thumbprint of the key whose holder alone may use it; null where it is anybody's who has it. */
export const holderOfClaims = (claims: TokenClaims): string | null =>
  'cnf' in claims && claims.cnf && 'jkt' in claims.cnf ? claims.cnf.jkt : null
/** Who acts for the subject; undefined where it does so itself. */
export const actOfClaims = (claims: TokenClaims): Act | undefined => ('act' in claims ? claims.act : undefined)
/** The one runtime that an operator's token is bound to; null of everybody else's. */
export const runtimeOfClaims = (claims: TokenClaims): string | null => ('shared_runtime_id' in claims ? claims.shared_runtime_id : null)
export const projectOfClaims = (claims: TokenClaims): string | null => ('project_id' in claims ? claims.project_id : null)
