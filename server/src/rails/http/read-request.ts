import type { IncomingHttpHeaders } from 'node:http'
import { parse } from 'node:querystring'
import type { Operation } from '@gatehouse/contract/operation'
import type { FastifyRequest } from 'fastify'
import { Problem } from '#ground/kernel/problem.ts'
import { holdsSecret } from '#ground/kernel/secret-in-text.ts'
import { settleText } from '#ground/kernel/settle-text.ts'
import { settleSpellings } from './settle-spellings.ts'
import { readIntegers } from './validation.ts'

/** A token, in which manner it is shown, and with which request: what a proof must fit that comes along. */
export interface ShownToken {
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string
  readonly proof: string | undefined
  readonly method: string
  /** Without the query. */
  readonly path: string
}

interface Showing {
  readonly authorization: string | undefined
  readonly dpop: string | undefined
  readonly method: string
  readonly path: string
}

export const shownTokenOf = ({ authorization, dpop, method, path }: Showing): ShownToken => {
  if (authorization === undefined) throw new Problem('token_missing')
  const scheme = /^(?:Bearer|DPoP)(?= [^ ])/i.exec(authorization)?.[0]
  if (scheme === undefined) throw new Problem('token_invalid')
  // What a token is made of, whoever verifies it looks at more closely than could be done here.
  const token = authorization.slice(scheme.length + 1)
  return { scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer', token, proof: dpop, method, path }
}

const timesNamed = (raw_headers: readonly string[], wanted: string): number => {
  let found = 0
  // Names and values take turns.
  for (let at = 0; at < raw_headers.length; at += 2) {
    const name = raw_headers[at]!
    if (name.length === wanted.length && name.toLowerCase() === wanted) found += 1
  }
  return found
}

/** Of two of these headers Node keeps the first, and a proxy in front of the server may keep the other. */
export const requireOneAuthorization = (raw_headers: readonly string[]): void => {
  if (timesNamed(raw_headers, 'authorization') > 1) throw new Problem('invalid_request', { detail: 'two_credentials' })
}

/** A name, an address or nothing, and a port: no blank, no list and no user (RFC 3986, 3.2). */
const hostText = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d*)?$/

export const isOneHost = (raw_headers: readonly string[], host: string | undefined): boolean =>
  timesNamed(raw_headers, 'host') <= 1 && hostText.test(host ?? '')

/** Two `Host` headers are refused likewise (RFC 9112, 3.2): a proxy may have routed the request by the other, or by a part of it. */
export const requireOneHost = (raw_headers: readonly string[], host: string | undefined): void => {
  if (timesNamed(raw_headers, 'host') > 1) throw new Problem('invalid_request', { detail: 'two_hosts' })
  if (!isOneHost(raw_headers, host)) throw new Problem('invalid_request', { detail: 'malformed_host' })
}

/** A header that was sent twice is two texts, of which neither is meant. */
export const oneText = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header.join(', ') : header)

/** Names under which credentials are sent, and what ours and signed tokens look like. */
const credentialName =
  /^(?:access_?token|refresh_?token|id_?token|token|bearer|authorization|client_?secret|client_?assertion|(?:subject|actor)_?token|secret|password|api_?key)$/i
const credentialText = /^(?:gh[a-z]{2}_[A-Za-z0-9_-]{20,}$|eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.)/
const credentialHeader = /^\s*(?:Bearer|DPoP)\s/i
const isCredential = (text: string): boolean => credentialText.test(text) || credentialHeader.test(text) || holdsSecret(text)

/** No operation has a tenth of it. */
const most_parameters = 100

/** Of a longer query just enough to see that it is too long: it is read before anybody is known. */
export const parseQuery = (query: string): object => (query === '' ? {} : parse(query, '&', '=', { maxKeys: most_parameters + 1 }))

export const requireFewParameters = (query: object): void => {
  if (Object.values(query).flat().length > most_parameters)
    throw new Problem('invalid_request', { detail: 'too_many_parameters', limit: most_parameters })
}

/**
 * An address is written down everywhere on its way; whoever sends a credential in it is told so before it is looked at, and whether or not
 * there is anything at that address. The name of a parameter is a place for one too: `?TOKEN` has no value.
 */
export const requireNoCredentialInQuery = (query: object): void => {
  for (const [name, value] of Object.entries(query))
    if (credentialName.test(name) || [name, value].flat().some((text) => isCredential(String(text))))
      throw new Problem('invalid_request', { detail: 'credential_in_query' })
}

const mediaTypes: Record<Operation['speaks'], RegExp> = {
  json: /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i,
  oauth: /^application\/x-www-form-urlencoded(?:\s*;\s*charset="?utf-8"?)?\s*$/i,
}

/** The body comes in the operation's own manner, in UTF-8 and not compressed. */
export const requireMedia = ({ speaks }: Operation, { 'content-type': type, 'content-encoding': encoding }: IncomingHttpHeaders): void => {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new Problem('unsupported_media_type')
  if (type !== undefined && !mediaTypes[speaks].test(type)) throw new Problem('unsupported_media_type')
}

const settleTexts = (values: object): void => {
  for (const [name, value] of Object.entries(values))
    if (typeof value === 'string') (values as Record<string, string>)[name] = settleText(value)
}

/** Before it is validated: one spelling per text, id and instant, wherever in the request it stands. */
export const settleRequest = (operation: Operation, request: FastifyRequest): void => {
  settleTexts(request.params as object)
  settleTexts(request.query as object)
  readIntegers(operation.query, request.query as object)
  request.params = settleSpellings(operation.params, request.params)
  request.query = settleSpellings(operation.query, request.query)
  // No body and an empty one are the same thing: the schema says what is missing.
  if (operation.body) request.body = settleSpellings(operation.body, request.body === undefined ? {} : request.body)
}
