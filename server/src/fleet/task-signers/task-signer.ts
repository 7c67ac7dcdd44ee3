import { type Kind, nowhere } from '#rails/authz/kind.ts'

/** A version of the key that tasks are signed with, seen by the platform. */
export const taskSignerKind: Kind<{ readonly kid: string }> = {
  type: 'task_signer',
  missing: 'signer_not_found',
  placeOf: ({ kid }) => ({ ...nowhere, id: kid }),
}
