import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Secret } from '../kernel/secret.ts'

/** The key-encryption keys this process knows. New envelopes are sealed with the active one; every known one opens. */
export interface KeyRing {
  readonly active_id: string
  readonly keyOf: (key_id: string) => Buffer | undefined
  readonly ids: readonly string[]
}

/** Where the keys come from. None of them is in the database that they protect. */
export type KeySource =
  | { readonly from: 'environment'; readonly text: Secret }
  | { readonly from: 'file' | 'command'; readonly path: string }

export class KeysRefused extends Error {
  override readonly name = 'KeysRefused'
}

const entry = /^([a-z0-9][a-z0-9_.-]{0,62}):((?:development-)?)([A-Za-z0-9_-]{43})$/

/** `id:key` items, the first of them active; a key is 32 bytes in base64url. */
export const parseKeyRing = (text: string): KeyRing => {
  const items = text
    .split(/[\s,]+/)
    .filter((item) => item !== '')
    .map((item) => {
      const found = entry.exec(item)
      if (!found) throw new KeysRefused('A key-encryption key is not of the form id:key, with a key of 32 bytes in base64url.')
      return [found[1]!, Buffer.from(found[3]!, 'base64url')] as const
    })
  const keys = new Map(items)
  if (items.length === 0) throw new KeysRefused('There is no key-encryption key.')
  if (keys.size !== items.length) throw new KeysRefused('Two key-encryption keys have the same id.')
  return { active_id: items[0]![0], keyOf: (key_id) => keys.get(key_id), ids: [...keys.keys()] }
}

/** The fingerprint of a key with its id. It tells two keys apart and reveals neither: a key is 32 random bytes. */
export const fingerprintOf = (ring: KeyRing, key_id: string): string =>
  createHash('sha256').update(`gatehouse key print\n${key_id}\n`).update(ring.keyOf(key_id)!).digest('hex').slice(0, 8)

const developmentKey = /(?:^|[\s,])[^:,\s]+:development-/

/** As `parseKeyRing`, and production refuses keys that say of themselves that they are for development. */
export const readKeyRing = (text: string, profile: 'development' | 'production'): KeyRing => {
  const ring = parseKeyRing(text)
  if (profile === 'production' && developmentKey.test(text))
    throw new KeysRefused('A key-encryption key is a development key; production refuses it.')
  return ring
}

const textOf = async (source: KeySource): Promise<string> => {
  if (source.from === 'environment') return source.text.reveal()
  try {
    if (source.from === 'file') return await readFile(source.path, 'utf8')
    // The door to a KMS: a program of the operator's prints the keys, and nothing of it is kept but them.
    const { stdout } = await promisify(execFile)(source.path, [], { timeout: 10_000, maxBuffer: 65_536 })
    return stdout
  } catch {
    throw new KeysRefused(`The key-encryption keys cannot be read from the ${source.from} ${source.path}.`)
  }
}

export const loadKeyRing = async (source: KeySource, profile: 'development' | 'production'): Promise<KeyRing> =>
  readKeyRing(await textOf(source), profile)
