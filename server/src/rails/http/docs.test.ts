import { gunzipSync } from 'node:zlib'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { docFiles } from './docs.ts'
import { acceptsGzip, serveFixed } from './fixed-files.ts'

const served = () => {
  const seen = { spelled: 0, counted: 0 }
  const document = {
    toJSON() {
      seen.spelled += 1
      return { openapi: '3.1.0' }
    },
  }
  const app = fastify()
  const countRequest = async () => {
    seen.counted += 1
  }
  serveFixed(
    app,
    docFiles(() => document),
    { fresh: { forRequest: () => ({}) } as never, countRequest },
  )
  return { app, seen }
}

test('HO-10 documents: asked for many times → serialised once, each request counted', async () => {
  const { app, seen } = served()
  for (let time = 0; time < 5; time += 1) {
    const { statusCode, headers, body } = await app.inject('/openapi.json')
    expect([statusCode, headers['content-type'], body]).toEqual([200, 'application/json; charset=utf-8', '{"openapi":"3.1.0"}'])
  }
  expect(seen).toEqual({ spelled: 1, counted: 5 })
  expect((await app.inject('/docs/json')).statusCode).toBe(404)
  await app.close()
})

test('HO-10 documents: gzip accepted → the same bytes compressed, under an ETag of their own; known ETag → 304', async () => {
  const { app } = served()
  for (const url of [
    '/openapi.json',
    '/docs',
    '/docs/static/swagger-ui.css',
    '/docs/static/swagger-ui-bundle.js',
    '/docs/static/start.js',
  ]) {
    const plain = await app.inject(url)
    const zipped = await app.inject({ url, headers: { 'accept-encoding': 'br, gzip' } })
    expect([url, plain.statusCode, zipped.statusCode, zipped.headers['content-encoding']]).toEqual([url, 200, 200, 'gzip'])
    expect(gunzipSync(zipped.rawPayload).equals(plain.rawPayload)).toBe(true)
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect([plain.headers.vary, zipped.headers.vary]).toEqual(['accept-encoding', 'accept-encoding'])
    expect(plain.headers.etag).not.toBe(zipped.headers.etag)
    for (const [tag, encoding] of [
      [plain.headers.etag, 'identity'],
      [`"other", W/${zipped.headers.etag}`, 'gzip'],
      ['*', 'gzip'],
    ] as const) {
      const known = await app.inject({ url, headers: { 'if-none-match': tag!, 'accept-encoding': encoding } })
      expect([known.statusCode, known.body]).toEqual([304, ''])
    }
    const other = await app.inject({ url, headers: { 'if-none-match': zipped.headers.etag!, 'accept-encoding': 'identity' } })
    expect(other.statusCode).toBe(200)
  }
  await app.close()
})

test.for([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP;q=0.5, br', true],
  ['br, *', true],
  ['br', false],
  ['gzip;q=0', false],
  ['gzip; q=0.000, *', false],
  ['*;q=0', false],
] as const)('HO-10 documents: Accept-Encoding %j → gzip %s', ([header, isAccepted]) => {
  expect(acceptsGzip(header)).toBe(isAccepted)
})
