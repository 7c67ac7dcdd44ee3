import { createHash } from 'node:crypto'
import { canonicalJson } from '@gatehouse/contract/canonical-json'
import type { DesiredKey, KeyHolder } from '@gatehouse/contract/node-tasks'

/** As many as one account takes. */
export const mostKeys = 1000

/** One reason for a key to be there: the allocation's own, or a grant. */
export interface Entry extends Pick<DesiredKey, 'key_type' | 'blob' | 'fingerprint'>, KeyHolder {}

export interface DesiredSet {
  readonly keys: DesiredKey[]
  readonly set_hash: string
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byHolder = (a: KeyHolder, b: KeyHolder): number => byText(a.grant_id ?? '', b.grant_id ?? '') || byText(a.ssh_key_id, b.ssh_key_id)

/** The last of the holders' ends; one without an end has none. */
const lastEnd = (holders: readonly KeyHolder[]): string | null =>
  holders.reduce<string | null>(
    (last, { expires_at }) => (last === null || expires_at === null ? null : expires_at > last ? expires_at : last),
    holders[0]!.expires_at,
  )

/**
 * A key is there once, however many hold it. Made of the same entries in any order, it is the same set with the same hash. Where holders must be
 * verified all of them are security keys, and each says so.
 */
export const desiredSet = (entries: readonly Entry[], is_verified = false): DesiredSet => {
  const keys = [...Map.groupBy(entries, ({ fingerprint }) => fingerprint).values()]
    .map((same): DesiredKey => {
      const { key_type, blob, fingerprint } = same[0]!
      const holders = same
        .map(({ grant_id, ssh_key_id, user_id, expires_at }) => ({ grant_id, ssh_key_id, user_id, expires_at }))
        .sort(byHolder)
      return {
        key_type,
        blob,
        fingerprint,
        expires_at: lastEnd(holders),
        holders,
        ...(is_verified ? { verify_required: true as const } : {}),
      }
    })
    .sort((a, b) => byText(a.fingerprint, b.fingerprint))
  return { keys, set_hash: createHash('sha256').update(canonicalJson(keys)).digest('hex') }
}
