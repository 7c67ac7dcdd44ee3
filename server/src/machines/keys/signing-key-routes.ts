import * as signingKeys from '@gatehouse/contract/signing-keys'
import { answer } from '#rails/http/answer.ts'
import { listSigningKeys } from './list-signing-keys.ts'
import { retireSigningKey } from './retire-signing-key.ts'
import { revokeSigningKey } from './revoke-signing-key.ts'
import { rotateSigningKey } from './rotate-signing-key.ts'

export const signingKeyRoutes = (tendSoon: () => void) => [
  answer(signingKeys.listSigningKeys, listSigningKeys),
  answer(signingKeys.rotateSigningKey, rotateSigningKey(tendSoon)),
  answer(signingKeys.retireSigningKey, retireSigningKey(tendSoon)),
  answer(signingKeys.revokeSigningKey, revokeSigningKey(tendSoon)),
]
