import * as credentials from '@gatehouse/contract/operator-credentials'
import { answer } from '#rails/http/answer.ts'
import { createOperatorCredential } from './create-operator-credential.ts'
import { listOperatorCredentials } from './list-operator-credentials.ts'
import { revokeOperatorCredential } from './revoke-operator-credential.ts'

export const operatorCredentialRoutes = [
  answer(credentials.listOperatorCredentials, listOperatorCredentials),
  answer(credentials.createOperatorCredential, createOperatorCredential),
  answer(credentials.revokeOperatorCredential, revokeOperatorCredential),
]
