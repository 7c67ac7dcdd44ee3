import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

interface Posted {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly { readonly name: string }[] }[] }[]
}

/** Takes OTLP over HTTP as any collector does, and keeps all of it as it can be read. */
export const collector = async () => {
  const posts: Buffer[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const sent = Buffer.concat(chunks)
    // What is packed hides what it holds.
    posts.push(request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => Buffer.concat(posts),
    spanNames: (): string[] =>
      posts
        .map((bytes) => JSON.parse(bytes.toString('utf8')) as Posted)
        .flatMap(({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)))
        .map(({ name }) => name),
    stop: () => new Promise<unknown>((resolve) => server.close(resolve)),
  }
}
