import type { SigningKey } from '@gatehouse/contract/signing-keys'
import { type Kind, nowhere } from '#rails/authz/kind.ts'

/** A key that tokens are signed with, seen by the platform. */
export const signingKeyKind: Kind<Pick<SigningKey, 'kid'>> = {
  type: 'signing_key',
  missing: 'signing_key_not_found',
  placeOf: ({ kid }) => ({ ...nowhere, id: kid }),
}
