import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** The OpenAPI document, and for people to read and try, at /docs. */
export const serveDocs = async (app: FastifyInstance, document: object): Promise<void> => {
  let text: string | undefined
  // Spelled once: it is as long as a thousand answers, and nobody is counted who asks for it.
  const send = (reply: FastifyReply) => {
    text ??= JSON.stringify(document)
    return reply.type('application/json; charset=utf-8').send(text)
  }
  app.get('/openapi.json', async (_request, reply) => send(reply))
  await app.register(async (pages) => {
    // The one page there is: no window of another origin that opened it keeps hold of it.
    pages.addHook('onRequest', async (request, reply) => {
      reply.header('cross-origin-opener-policy', 'same-origin')
      if (request.routeOptions.url === '/docs/json') return send(reply)
    })
    await pages.register(swagger, { mode: 'static', specification: { document: document as never } })
    await pages.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: true,
      uiConfig: { docExpansion: 'list', displayOperationId: true, persistAuthorization: false, validatorUrl: null },
      theme: { title: 'Gatehouse API', css: [{ filename: 'gatehouse.css', content: '.swagger-ui .topbar { display: none }' }] },
    })
  })
}
