import { hash, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { HumanClaims } from './human-claims.ts'

export interface Verified {
  readonly kid: string
  readonly key: KeyObject
  readonly verified_at: number
  readonly claims: HumanClaims
}

/**
 * Whether a signature fits never changes for the same bytes and the same key, and finding out is the dearest part of a request. So it
 * is remembered, under a digest and not under the token. Whether the key still counts, and the time, is asked anew each time.
 */
export const verifiedBefore = (most = 10_000) => {
  const known = new LRUCache<string, Verified>({ max: most })
  const nameOf = (token: string) => hash('sha256', token, 'base64')
  return {
    find: (token: string): Verified | undefined => known.get(nameOf(token)),
    remember: (token: string, verified: Verified): void => {
      known.set(nameOf(token), verified)
    },
  }
}
