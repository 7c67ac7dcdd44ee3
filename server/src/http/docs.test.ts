import fastify from 'fastify'
import { expect, test } from 'vitest'
import { serveDocs } from './docs.ts'

test('HO-04 the document, which anybody may ask for as often as he likes, is spelled once', async () => {
  let spelled = 0
  const document = {
    openapi: '3.1.0',
    info: { title: 'Test', version: '1' },
    paths: {},
    toJSON() {
      spelled += 1
      return { openapi: '3.1.0' }
    },
  }
  const app = fastify()
  await serveDocs(app, document)
  for (const url of ['/openapi.json', '/docs/json', '/openapi.json', '/docs/json', '/docs/json']) {
    const { statusCode, headers, body } = await app.inject(url)
    expect([statusCode, headers['content-type'], body]).toEqual([200, 'application/json; charset=utf-8', '{"openapi":"3.1.0"}'])
  }
  expect(spelled).toBe(1)
  await app.close()
})
