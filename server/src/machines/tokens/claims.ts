import type { SigningKey } from '../keys/key-set.ts'
import type { Sign } from '../keys/signer.ts'
import type { MachineClass, TokenType } from './machine-class.ts'
import type { TokenClaims } from './token-claims.ts'

/** What each class is bound to, beyond what every token says. */
export type Binding<C extends MachineClass = MachineClass> = Omit<
  Extract<TokenClaims, { actor_type: C }>,
  keyof Common | 'client_id' | 'cnf' | 'act'
>
type Common = Pick<TokenClaims, 'sub' | 'actor_type' | 'iss' | 'aud' | 'iat' | 'exp' | 'jti' | 'scope'>

export interface ToBeSaid<C extends MachineClass> {
  readonly actor_type: C
  readonly actor_id: string
  readonly issuer: string
  readonly audience: string
  /** The database's clock when it was decided. */
  readonly issued_at: string
  readonly ttl_seconds: number
  readonly jti: string
  readonly scope: readonly string[]
  readonly binding: Binding<C>
  /** What else is said, by the profile. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** The claims of a token, in one order: whole seconds, one audience, the scope as one text, and what its class is bound to. */
export const claimsOf = <C extends MachineClass>(said: ToBeSaid<C>): Extract<TokenClaims, { actor_type: C }> => {
  const iat = Math.floor(Date.parse(said.issued_at) / 1000)
  const claims = {
    sub: said.actor_id,
    actor_type: said.actor_type,
    iss: said.issuer,
    aud: said.audience,
    iat,
    exp: iat + said.ttl_seconds,
    jti: said.jti,
    scope: said.scope.join(' '),
    ...said.binding,
    ...said.more,
  }
  return claims as unknown as Extract<TokenClaims, { actor_type: C }>
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The header is the same for all tokens of a type and a key. */
const headers = new WeakMap<SigningKey, Map<TokenType, string>>()
const headerOf = (key: SigningKey, typ: TokenType): string => {
  const known = headers.get(key) ?? new Map<TokenType, string>()
  headers.set(key, known)
  const header = known.get(typ) ?? encoded({ alg: key.alg, kid: key.kid, typ })
  known.set(typ, header)
  return header
}

/** The one place where a token of ours is made. */
export const signedToken = async (sign: Sign, key: SigningKey, typ: TokenType, claims: TokenClaims): Promise<string> => {
  const signed = `${headerOf(key, typ)}.${encoded(claims)}`
  return `${signed}.${(await sign(key, Buffer.from(signed))).toString('base64url')}`
}
