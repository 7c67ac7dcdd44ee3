import { createHmac, type KeyObject } from 'node:crypto'
import { canonicalJson } from '@gatehouse/contract/canonical-json'

/** A row of a chain before its hash: exactly the fields that are hashed, in their order. */
export interface ChainedRow {
  readonly chain_id: string
  readonly seq: number
  readonly id: string
  /** With microseconds. */
  readonly occurred_at: string
  readonly correlation_id: string
  readonly actor_type: string
  readonly actor_id: string | null
  readonly platform_role: string | null
  readonly tenant_id: string | null
  readonly project_id: string | null
  readonly resource_type: string
  readonly resource_id: string | null
  readonly resource_name: string | null
  readonly action: string
  readonly result: string
  readonly reason_code: string | null
  readonly severity: string
  /** Its text as it is kept: canonical when written, and never parsed when it is verified. */
  readonly metadata: string
  /** Of a machine: what it authenticated with, and the token that it showed or was issued. */
  readonly credential_id: string | null
  readonly jti: string | null
}

/** The chain of everything that belongs to no tenant, and of what crossed tenants. */
export const platformChain = '00000000-0000-0000-0000-000000000000'
export const chainOf = (tenant_id: string | null): string => tenant_id ?? platformChain

/** What precedes the first row. */
export const genesis = Buffer.alloc(32)

const field = (text: string | null): string => (text === null ? '-' : `${Buffer.byteLength(text)}:${text}`)
/** The database keeps microseconds; we write milliseconds, and a row that has more was not written by us. */
export const microseconds = (instant: string) => instant.replace('Z', '000Z')

/** Every field with its length, so that no two rows have the same text. */
export const textOf = (row: { readonly [K in keyof ChainedRow]: ChainedRow[K] | null }): string => {
  let text = ''
  for (const part of [
    row.chain_id,
    String(row.seq),
    row.id,
    row.occurred_at,
    row.correlation_id,
    row.actor_type,
    row.actor_id,
    row.platform_role,
    row.tenant_id,
    row.project_id,
    row.resource_type,
    row.resource_id,
    row.resource_name,
    row.action,
    row.result,
    row.reason_code,
    row.severity,
    row.metadata,
  ])
    text += field(part)
  // Rows that are older than these two fields end before them. Each field says its length, so a row with them reads like no row without.
  if (row.credential_id !== null || row.jti !== null) text += field(row.credential_id) + field(row.jti)
  return text
}

/**
 * The hash of a row binds its text and, through the hash before it, everything that happened earlier in its chain. It is keyed
 * with a key that the database does not have: who can write any row still cannot write one that fits.
 */
export const linkHash = (key: KeyObject, previous: Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(previous).update(text, 'utf8').digest()

export const metadataText = (metadata: Readonly<Record<string, unknown>>): string => canonicalJson(metadata)
