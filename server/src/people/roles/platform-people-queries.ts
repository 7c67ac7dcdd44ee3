import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'

const Person = Exactly({
  id: Type.String(),
  username: Type.String(),
  email: Nullable(Type.String()),
  email_verified: Type.Boolean(),
  oidc_issuer: Type.String(),
  oidc_subject: Type.String(),
})
export type Person = Static<typeof Person>

/** Whoever is meant by an id, an address or a subject of a provider: of an address there may be several. */
export const peopleMeant = (id: string | null, email: string | null, issuer: string | null, subject: string | null) => sql(Person)`
  select id, username, email, email_verified, oidc_issuer, oidc_subject from users
   where id = ${id}::uuid or lower(email) = lower(${email}::text) or (oidc_issuer = ${issuer}::text and oidc_subject = ${subject}::text)
   order by id limit 5`
