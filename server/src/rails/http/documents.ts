import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Fresh, FreshReader } from '#ground/epochs/fresh.ts'

/** Something that anybody may read and keep for a while: no operation, no actor, no record. */
export interface PublicDocument {
  readonly path: string
  readonly media_type: string
  readonly read: (fresh: FreshReader) => Promise<{ readonly body: object; readonly max_age_seconds: number }>
}

interface DocumentParts {
  readonly fresh: Fresh
  readonly countRequest: (request: FastifyRequest) => Promise<void>
}

/** The tags of a condition; `W/` says nothing here, since the same content is always the same bytes. */
const tagsOf = (condition: string | undefined) => (condition ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))

/** Counted against where the request comes from, like everything that nobody signs for. */
export const serveDocument = (app: FastifyInstance, document: PublicDocument, { fresh, countRequest }: DocumentParts): void => {
  app.get(document.path, async (request, reply) => {
    request.fresh = fresh.forRequest()
    await countRequest(request)
    const { body, max_age_seconds } = await document.read(request.fresh)
    const text = JSON.stringify(body)
    const tag = `"${createHash('sha256').update(text).digest('base64url')}"`
    reply.header('cache-control', `public, max-age=${max_age_seconds}`).header('etag', tag)
    const known = tagsOf(request.headers['if-none-match'])
    if (known.includes(tag) || known.includes('*')) return reply.code(304).send()
    return reply.type(document.media_type).send(text)
  })
}
