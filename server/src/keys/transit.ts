import type { KeyObject } from 'node:crypto'
import type { KeyAlgorithm } from './key-set.ts'

/** Where the engine is, and how it is spoken to. */
export interface TransitSettings {
  readonly url: string
  readonly token_file: string
  readonly mount: string
  readonly key: string
  readonly namespace: string | null
}

/** A Vault or OpenBao transit engine: keys that are made there, sign there, and never leave. */
export interface Transit {
  readonly newVersion: (alg: KeyAlgorithm) => Promise<{ readonly name: string; readonly version: number; readonly key: KeyObject }>
  readonly sign: (key: { readonly name: string; readonly version: number }, alg: KeyAlgorithm, input: Buffer) => Promise<Buffer>
}

export const createTransit = (_settings: TransitSettings): Transit => {
  throw new Error('to be written')
}
