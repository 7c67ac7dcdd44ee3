import { createHash } from 'node:crypto'
import type { Secret } from '#ground/kernel/secret.ts'
import { secretsBeginning } from '#ground/kernel/spelled-secret.ts'

/** What opens a delivery. What is not spelled as one is not looked for. */
export const { make: newWrappingToken, isSpelled: isSpelledAsToken } = secretsBeginning('ghwd_')

/** There are 256 bits of chance in it: a plain hash is all that has to be kept of it. */
export const hashOfToken = (token: Secret): Buffer => createHash('sha256').update(token.reveal()).digest()
