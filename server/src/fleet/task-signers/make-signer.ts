import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { seal } from '#ground/custody/envelope.ts'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import { Secret } from '#ground/kernel/secret.ts'
import type { NewSigner } from './task-signer-queries.ts'

/** Ties an envelope to its row. */
export const boundOfSigner = (kid: string) => `task_signers.envelope ${kid}`

/** The column of sealed private keys, for whoever seals everything anew. */
export const taskSignerEnvelopes = { table: 'task_signers', id: 'kid', column: 'envelope', boundOf: boundOfSigner } as const

export interface SignerMaking {
  readonly ring: KeyRing
  /** Has the authority vouch for a key; the certificate in PEM. */
  readonly certify: (key: KeyObject, kid: string) => Promise<string>
}

/** A new version of the key that signs tasks. It is called by its thumbprint (RFC 7638). */
export const makeSigner = async ({ ring, certify }: SignerMaking): Promise<NewSigner> => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { crv, kty, x } = publicKey.export({ format: 'jwk' })
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url')
  const secret = new Secret(JSON.stringify(privateKey.export({ format: 'jwk' })))
  return { kid, certificate: await certify(publicKey, kid), envelope: seal(ring, secret, boundOfSigner(kid)) }
}
