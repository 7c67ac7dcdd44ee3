import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Fresh } from '#ground/epochs/fresh.ts'

/** Something that anybody may read and that stays the same as long as the process lives. */
export interface FixedFile {
  readonly path: string
  readonly media_type: string
  /** Asked once. */
  readonly read: () => Promise<Buffer>
  readonly headers?: Readonly<Record<string, string>>
}

interface FixedParts {
  readonly fresh: Fresh
  readonly countRequest: (request: FastifyRequest) => Promise<void>
}

interface Version {
  readonly bytes: Buffer
  readonly tag: string
}

const compress = promisify(gzip)

/** Both encodings of a file. They differ in bytes, so they differ in their ETag too (RFC 9110, 8.8.3.3). */
const versionsOf = async (read: FixedFile['read']): Promise<{ readonly plain: Version; readonly zipped: Version }> => {
  const bytes = await read()
  const hash = createHash('sha256').update(bytes).digest('base64url')
  return { plain: { bytes, tag: `"${hash}"` }, zipped: { bytes: await compress(bytes, { level: 9 }), tag: `"${hash}-gzip"` } }
}

const once = <Made>(make: () => Promise<Made>) => {
  let made: Promise<Made> | undefined
  return (): Promise<Made> => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}

/** Whether `gzip` is acceptable: named, or meant by `*`, and not with the weight 0. */
export const acceptsGzip = (header: string | undefined): boolean => {
  const weights = new Map(
    (header ?? '').split(',', 20).map((each) => {
      const [coding = '', ...parameters] = each.split(';', 3).map((part) => part.trim().toLowerCase())
      return [coding, parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter)) ? 0 : 1]
    }),
  )
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}

/** `W/` says nothing here: the same tag always means the same bytes. */
const knows = (condition: string | undefined, tag: string): boolean =>
  (condition ?? '').split(',', 20).some((each) => [tag, '*'].includes(each.trim().replace(/^W\//, '')))

/** Each file is read, hashed and compressed once; every request for one counts against the limit of its network. */
export const serveFixed = (app: FastifyInstance, files: readonly FixedFile[], { fresh, countRequest }: FixedParts) => {
  const made = files.map(({ path, media_type, read, headers = {} }) => {
    const versions = once(() => versionsOf(read))
    app.get(path, async (request, reply) => {
      request.fresh = fresh.forRequest()
      await countRequest(request)
      const { plain, zipped } = await versions()
      const isZipped = acceptsGzip(String(request.headers['accept-encoding'] ?? ''))
      const { bytes, tag } = isZipped ? zipped : plain
      reply.headers(headers).header('cache-control', 'public, max-age=300').header('etag', tag).header('vary', 'accept-encoding')
      if (knows(request.headers['if-none-match'], tag)) return reply.code(304).send()
      if (isZipped) reply.header('content-encoding', 'gzip')
      return reply.type(media_type).send(bytes)
    })
    return versions
  })
  return {
    /** Makes them before anybody asks, so that no request takes long. */
    prepare: async (): Promise<void> => {
      for (const versions of made) await versions()
    },
  }
}
