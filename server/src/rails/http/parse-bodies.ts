import type { FastifyInstance } from 'fastify'
import { Problem } from '#ground/kernel/problem.ts'
import type { parseStrictJson } from '#ground/kernel/strict-json.ts'
import { untoldMembers } from './idempotency.ts'
import { located } from './located.ts'
import { readForm } from './read-form.ts'
import { bodyLimit, readMeasured } from './stranger-cost.ts'

/** Bodies are strict JSON; at the OAuth endpoints they are forms. No other media type has a parser. */
export const parseBodies = (app: FastifyInstance, parseJson: typeof parseStrictJson): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit }, (request, bytes: Buffer, done) => {
    const { operation } = request
    // What is no operation has no use for a body, so a stranger's is not parsed.
    if (!operation || bytes.length === 0) return done(null, undefined)
    readMeasured(
      request,
      bytes,
      () => parseJson(bytes, () => untoldMembers(operation)),
      (error, body) => done(error && located(error, bytes), body),
    )
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer', bodyLimit }, (request, bytes: Buffer, done) => {
    const { operation } = request
    if (operation?.speaks !== 'oauth') return done(new Problem('unsupported_media_type'))
    readMeasured(request, bytes, () => readForm(operation, bytes), done)
  })
}
