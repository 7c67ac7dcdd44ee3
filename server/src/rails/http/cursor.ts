import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { canonicalJson } from '@gatehouse/contract/canonical-json'
import { Problem } from '#ground/kernel/problem.ts'
import type { Secret } from '#ground/kernel/secret.ts'

/** Where a list goes on. Sealed for one caller and one query: it tells nothing, and fits nowhere else. */
export interface Cursors {
  seal(bound: unknown, after: string): string
  open(bound: unknown, cursor: string): string
}

export const sealedCursors = (key: Secret): Cursors => {
  const derived = Buffer.from(hkdfSync('sha256', key.reveal(), '', 'gatehouse cursor v1', 32))
  const aadOf = (bound: unknown) => createHash('sha256').update(canonicalJson(bound)).digest()
  return {
    seal: (bound, after) => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', derived, nonce).setAAD(aadOf(bound))
      return Buffer.concat([nonce, cipher.update(after, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url')
    },
    open: (bound, cursor) => {
      const bytes = Buffer.from(cursor, 'base64url')
      try {
        // One spelling per cursor: base64url with stray trailing bits decodes too.
        if (bytes.length < 29 || bytes.toString('base64url') !== cursor) throw new Error('not a cursor')
        const decipher = createDecipheriv('aes-256-gcm', derived, bytes.subarray(0, 12))
          .setAAD(aadOf(bound))
          .setAuthTag(bytes.subarray(-16))
        return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8')
      } catch (error) {
        throw new Problem('cursor_invalid', undefined, error)
      }
    },
  }
}
