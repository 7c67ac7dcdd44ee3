import { hash, type KeyObject } from 'node:crypto'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'

export interface Verified<Claims> {
  readonly kid: string
  readonly key: KeyObject
  readonly claims: Claims
}

/**
 * Whether a signature fits never changes for the same bytes and the same key, and finding out is the dearest part of a request. So it
 * is remembered, under a digest and not under the token. Whether the key still counts, and the time, is asked anew each time.
 */
export const verifiedBefore = <V extends Verified<unknown>>(most = 10_000) => {
  const known = recentlyUsed<V>(most)
  const nameOf = (token: string) => hash('sha256', token, 'base64')
  return {
    find: (token: string): V | undefined => known.get(nameOf(token)),
    remember: (token: string, verified: V): void => {
      known.set(nameOf(token), verified)
    },
  }
}
