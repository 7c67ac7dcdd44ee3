import * as nodes from '@gatehouse/contract/nodes'
import { type Answer, answer } from '#rails/http/answer.ts'
import { listTaskSigners } from './list-task-signers.ts'
import { revokeTaskSigner } from './revoke-task-signer.ts'
import { rotateTaskSigner } from './rotate-task-signer.ts'

/** `tendSoon`: a next version is needed, or what was signed must be signed anew; done aside. */
export const taskSignerRoutes = (tendSoon: () => void): readonly Answer[] => [
  answer(nodes.listTaskSigners, listTaskSigners),
  answer(nodes.rotateTaskSigner, rotateTaskSigner(tendSoon)),
  answer(nodes.revokeTaskSigner, revokeTaskSigner(tendSoon)),
]
