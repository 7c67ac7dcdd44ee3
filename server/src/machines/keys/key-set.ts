import { createSecretKey, type KeyObject } from 'node:crypto'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import { type Source, type Wanted, want } from '#ground/epochs/fresh.ts'
import { publicKeyOf } from './public-key.ts'
import { type KeyInEpoch, type KeyRow, liveKeysInEpoch } from './signing-key-queries.ts'

export type KeyAlgorithm = KeyRow['alg']

/** Where the private part of a key is; whoever signs fetches it from there. */
export type Custody =
  | { readonly kind: 'envelope'; readonly envelope: unknown }
  | { readonly kind: 'transit'; readonly name: string; readonly version: number; readonly key: KeyObject }
  | { readonly kind: 'envelope_key'; readonly key_id: string }

export interface SigningKey {
  readonly kid: string
  readonly alg: KeyAlgorithm
  readonly custody: Custody
}

export interface VerifyingKey {
  readonly kid: string
  readonly alg: KeyAlgorithm
  /** Of a shared secret there is no public part: then it is the secret itself, which is never published. */
  readonly key: KeyObject
  readonly state: 'active' | 'grace'
  /** Past it the key verifies nothing; whoever reads compares it with the moment of his reading. */
  readonly grace_until: string | null
}

/** A key that everybody may know. */
export interface PublishedKey {
  readonly jwk: Readonly<Record<string, string>>
  readonly grace_until: string | null
}

/** Which keys there are, at one moment. */
export interface KeySet {
  /** Without one nothing can be issued. */
  readonly signing: SigningKey | undefined
  readonly verifying: ReadonlyMap<string, VerifyingKey>
  /** The next one among them, ahead of its use. */
  readonly published: readonly PublishedKey[]
  readonly installation_epoch: number
}

/** Undefined: the key-encryption key that it was has been taken out of the configuration. */
const verifyingKey = (ring: KeyRing, row: KeyRow): KeyObject | undefined => {
  if (row.public_jwk !== null) return publicKeyOf(row.public_jwk, row.alg)
  const shared = ring.keyOf(row.envelope_key_id!)
  return shared && createSecretKey(shared)
}

const custodyOf = (row: KeyRow, key: KeyObject): Custody => {
  if (row.custody === 'envelope') return { kind: 'envelope', envelope: row.envelope }
  if (row.custody === 'transit') return { kind: 'transit', name: row.transit_name!, version: row.transit_version!, key }
  return { kind: 'envelope_key', key_id: row.envelope_key_id! }
}

const keySetOf = (ring: KeyRing, rows: readonly KeyInEpoch[]): KeySet => {
  const verifying = new Map<string, VerifyingKey>()
  const published: PublishedKey[] = []
  let signing: SigningKey | undefined
  for (const row of rows) {
    const { kid, alg, state, grace_until, public_jwk } = row
    const key = verifyingKey(ring, row)
    if (key === undefined) continue
    if (public_jwk !== null) published.push({ jwk: { ...public_jwk, kid, alg, use: 'sig' }, grace_until })
    if (state === 'active') signing = { kid, alg, custody: custodyOf(row, key) }
    if (state === 'active' || state === 'grace') verifying.set(kid, { kid, alg, key, state, grace_until })
  }
  // Without a key nothing is verified, in whatever epoch.
  return { signing, verifying, published, installation_epoch: rows[0]?.epoch ?? 0 }
}

/** How the keys are asked for. All of them are one value: there are few, and they change together. */
export const keySetSource = (ring: KeyRing): (() => Wanted<KeySet>) => {
  const source: Source<'all', KeySet> = {
    name: 'signing keys',
    textOf: () => 'all',
    tenantOf: () => null,
    load: async (tx, asked) => {
      const keys = keySetOf(ring, await tx.many(liveKeysInEpoch()))
      return asked.map(() => keys)
    },
  }
  return () => want(source, 'all')
}
