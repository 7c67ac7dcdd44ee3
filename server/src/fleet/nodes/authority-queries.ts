import { Exactly, Instant } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import type { Envelope } from '#ground/custody/envelope.ts'
import { columns, sql } from '#ground/db/statement.ts'

const AuthorityRow = Exactly({ id: Type.String(), certificate: Type.String(), envelope: Type.Unknown(), ends_at: Instant })
export type AuthorityRow = Static<typeof AuthorityRow>

export const activeAuthority = () => sql(AuthorityRow)`
  select ${columns(AuthorityRow)} from node_authorities where is_active`

/** Two that start together make one. */
export const lockAuthority = () => sql(Exactly({ locked: Type.Literal(true) }))`
  select true as locked from pg_advisory_xact_lock(7290435)`

interface NewAuthority {
  readonly id: string
  readonly certificate: string
  readonly envelope: Envelope
  readonly ends_at: string
}

export const insertAuthority = ({ id, certificate, envelope, ends_at }: NewAuthority, now: string) => sql(AuthorityRow)`
  insert into node_authorities (id, certificate, envelope, created_at, ends_at)
  values (${id}, ${certificate}, ${JSON.stringify(envelope)}::jsonb, ${now}, ${ends_at})
  returning ${columns(AuthorityRow)}`
