import * as credentials from '@gatehouse/contract/runtime-credentials'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import { answer } from '#rails/http/answer.ts'
import { deliverRuntimeCredential } from './deliver-runtime-credential.ts'
import { depositRuntimeCredential } from './deposit-runtime-credential.ts'
import { listRuntimeCredentials } from './list-runtime-credentials.ts'
import { revokeRuntimeCredential } from './revoke-runtime-credential.ts'

export const runtimeCredentialRoutes = (ring: KeyRing) => [
  answer(credentials.listRuntimeCredentials, listRuntimeCredentials),
  answer(credentials.depositRuntimeCredential, depositRuntimeCredential(ring)),
  answer(credentials.revokeRuntimeCredential, revokeRuntimeCredential),
  answer(credentials.deliverRuntimeCredential, deliverRuntimeCredential),
]
