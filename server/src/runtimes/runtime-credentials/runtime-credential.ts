import { RuntimeCredential } from '@gatehouse/contract/runtime-credentials'
import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'

/** With its envelope, which nobody is shown. */
export const SealedCredential = Exactly({ ...RuntimeCredential.properties, envelope: Nullable(Type.Unknown()) })
export type SealedCredential = Static<typeof SealedCredential>

/** Ties an envelope to its row, and to whom the row was for: moved to another one, or with its row to another runtime, it does not open. */
export const boundOfCredential = (id: string, org_id: string, shared_runtime_id: string) =>
  `shared_runtime_credentials.envelope ${id} ${org_id} ${shared_runtime_id}`

/** The column of deposited secrets, for whoever seals everything anew. */
export const runtimeCredentialEnvelopes = {
  table: 'shared_runtime_credentials',
  id: 'id',
  column: 'envelope',
  bound_by: ['org_id', 'shared_runtime_id'],
  boundOf: boundOfCredential,
} as const

/** Whether it can be delivered. */
export const isLive = ({ state }: Pick<RuntimeCredential, 'state'>): boolean => state === 'active' || state === 'delivered'
