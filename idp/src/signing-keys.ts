import { generateKeyPairSync, type JsonWebKey, randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type SigningKeys = { keys: JsonWebKey[] }

const make = (): SigningKeys => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' }] }
}

const read = (file: string): SigningKeys => {
  try {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as SigningKeys
    if (!Array.isArray(kept.keys) || kept.keys.length === 0) throw new Error('no keys in it')
    return kept
  } catch (cause) {
    throw new Error(`The signing keys in ${file} cannot be read; remove the file and new ones are made.`, { cause })
  }
}

/** Kept between starts, because a server that caches our key set would otherwise refuse everyone after each restart. */
export const signingKeys = (stateDir: string | undefined): SigningKeys => {
  if (stateDir === undefined) return make()
  const file = join(stateDir, 'idp-signing-keys.json')
  if (existsSync(file)) {
    chmodSync(file, 0o600)
    return read(file)
  }
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const made = make()
  // Written aside and renamed: a start killed half way must not leave half a key.
  const aside = `${file}.${process.pid}`
  writeFileSync(aside, JSON.stringify(made), { mode: 0o600 })
  renameSync(aside, file)
  return made
}
