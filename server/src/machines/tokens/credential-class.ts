import type { Statement } from '#ground/db/statement.ts'
import type { Wanted } from '#ground/epochs/fresh.ts'
import type { Facts } from '#rails/authz/facts.ts'
import type { Place } from '#rails/authz/kind.ts'
import type { Standing } from '#rails/authz/standing.ts'
import type { KeptKey, Provable } from '../service-accounts/credential.ts'
import type { Binding } from './claims.ts'
import type { Owner } from './owner-queries.ts'
import type { Bound } from './token-policy.ts'

/** Whom everybody is taken for who names somebody that there is not: what is read of him is read as of anybody, and nothing is found. */
export const nowhere = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Where an actor lives. It never moves. */
export interface Home {
  readonly org_id: string
  readonly project_id: string | null
}

/** A credential and whose it is, by the record or as somebody says: only a read finds out. */
export interface Located<H extends Home = Home> {
  readonly actor_id: string
  readonly key_id: string
  readonly home: H
}

/** The classes of actors that have credentials with secrets. */
export type CredentialClassName = Owner['type']

/** What is particular about the credentials of one class; the way they open is the same. */
export interface CredentialClass<C extends CredentialClassName, H extends Home, K extends KeptKey & Provable> {
  readonly type: C
  readonly findHome: (actor_id: string) => Statement<H>
  readonly nobodysHome: H
  readonly wantCredential: (located: Located<H>) => Wanted<K>
  /** Why one that is right opens nothing, by what it hangs on; null where it does. */
  readonly endOf: (credential: K, standing: Standing | undefined) => string | null
  readonly placeOf: (located: Located<H>) => Place
  readonly boundTo: (located: Located<H>, held: ReadonlySet<string>) => Bound & { readonly actor_type: C }
  readonly bindingOf: (located: Located<H>) => Binding<C>
  readonly heldBy: (facts: Facts) => ReadonlySet<string>
}
