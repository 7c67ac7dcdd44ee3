import { boundOf } from './make-key.ts'

/** The column of sealed private keys, for whoever seals everything anew. */
export const signingKeyEnvelopes = { table: 'signing_keys', id: 'kid', column: 'envelope', boundOf } as const
