import { RuntimeCredential } from '@gatehouse/contract/runtime-credentials'
import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'

/** With its envelope, which nobody is shown. */
export const SealedCredential = Exactly({ ...RuntimeCredential.properties, envelope: Nullable(Type.Unknown()) })
export type SealedCredential = Static<typeof SealedCredential>

/** Ties an envelope to its row: moved to another one it does not open. */
export const boundOfCredential = (id: string) => `shared_runtime_credentials.envelope ${id}`

/** The column of deposited secrets, for whoever seals everything anew. */
export const runtimeCredentialEnvelopes = {
  table: 'shared_runtime_credentials',
  id: 'id',
  column: 'envelope',
  boundOf: boundOfCredential,
} as const

/** Whether it can be delivered. */
export const isLive = ({ state }: Pick<RuntimeCredential, 'state'>): boolean => state === 'active' || state === 'delivered'
