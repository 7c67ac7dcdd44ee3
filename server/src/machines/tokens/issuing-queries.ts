import { Exactly } from '@gatehouse/contract/shapes'
import { sql } from '#ground/db/statement.ts'
import type { Act } from '#ground/work/work.ts'
import type { MachineClass } from './machine-class.ts'

/** What is kept of a token: all that it says, and never the token. */
export interface TokenRow {
  readonly id: string
  readonly actor_type: MachineClass
  readonly actor_id: string
  readonly credential_id: string | null
  readonly parent_id: string | null
  readonly org_id: string | null
  readonly project_id: string | null
  readonly binding: Readonly<Record<string, unknown>>
  readonly typ: string
  readonly kid: string
  readonly audience: string
  readonly scope: readonly string[]
  readonly cnf_jkt: string | null
  readonly act: Act | null
  readonly epoch: number
  readonly issued_at: string
  readonly expires_at: string
  readonly source_workflow_id: string | null
  readonly reason: string | null
}

/** No key of ours has a blank in it. */
export const insertTokens = (rows: readonly TokenRow[]) => sql(Exactly({}))`
  insert into issued_tokens (id, actor_type, actor_id, credential_id, parent_id, org_id, project_id, binding, typ, kid, audience, scope, cnf_jkt, act,
                             epoch, issued_at, expires_at, source_workflow_id, reason)
  select t.id, t.actor_type, t.actor_id, t.credential_id, t.parent_id, t.org_id, t.project_id, t.binding::jsonb, t.typ, t.kid, t.audience,
         string_to_array(t.scope, ' '), t.cnf_jkt, t.act::jsonb, t.epoch, t.issued_at, t.expires_at, t.source_workflow_id, t.reason
      from unnest(
             ${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ actor_type }) => actor_type)}::text[],
             ${rows.map(({ actor_id }) => actor_id)}::uuid[], ${rows.map(({ credential_id }) => credential_id)}::uuid[],
             ${rows.map(({ parent_id }) => parent_id)}::uuid[], ${rows.map(({ org_id }) => org_id)}::uuid[],
             ${rows.map(({ project_id }) => project_id)}::uuid[], ${rows.map(({ binding }) => JSON.stringify(binding))}::text[],
             ${rows.map(({ typ }) => typ)}::text[], ${rows.map(({ kid }) => kid)}::text[], ${rows.map(({ audience }) => audience)}::text[],
             ${rows.map(({ scope }) => scope.join(' '))}::text[], ${rows.map(({ cnf_jkt }) => cnf_jkt)}::text[],
             ${rows.map(({ act }) => act && JSON.stringify(act))}::text[], ${rows.map(({ epoch }) => epoch)}::int[],
             ${rows.map(({ issued_at }) => issued_at)}::timestamptz[], ${rows.map(({ expires_at }) => expires_at)}::timestamptz[],
             ${rows.map(({ source_workflow_id }) => source_workflow_id)}::text[], ${rows.map(({ reason }) => reason)}::text[])
        as t (id, actor_type, actor_id, credential_id, parent_id, org_id, project_id, binding, typ, kid, audience, scope, cnf_jkt, act,
              epoch, issued_at, expires_at, source_workflow_id, reason)`
