import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** The OpenAPI document for people to read and try, at /docs. */
export const serveDocs = async (app: FastifyInstance, document: object): Promise<void> => {
  await app.register(async (pages) => {
    // The one page there is: no window of another origin that opened it keeps hold of it.
    pages.addHook('onRequest', async (_request, reply) => {
      reply.header('cross-origin-opener-policy', 'same-origin')
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
