import type { IncomingHttpHeaders } from 'node:http'
import { newId } from '#ground/kernel/ids.ts'
import { holdsSecret } from '#ground/kernel/secret-in-text.ts'

const wellFormed = /^[A-Za-z0-9._:-]{1,128}$/

/** The caller's id if it is well-formed, otherwise a new one: it ends in logs and records, so it is not just believed. */
export const correlationIdOf = (headers: IncomingHttpHeaders): string => {
  const given = headers['x-request-id'] ?? headers['x-correlation-id']
  return typeof given === 'string' && wellFormed.test(given) && !holdsSecret(given) ? given : newId('correlation')
}
