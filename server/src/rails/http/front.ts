import type { FastifyInstance } from 'fastify'
import product from '../../../../package.json' with { type: 'json' }

const leadsTo = {
  name: 'Gatehouse',
  version: product.version,
  documentation: '/docs',
  openapi: '/openapi.json',
  api: '/api/v1/me',
  oauth_metadata: '/.well-known/oauth-authorization-server',
  health: '/healthz',
  readiness: '/readyz',
}

/** Where somebody lands who knows the address alone: people are led to the pages, programs to everything. Until the console is here. */
export const serveFront = (app: FastifyInstance): void => {
  app.get('/', async (request, reply) =>
    /\btext\/html\b/i.test(request.headers.accept ?? '')
      ? reply.redirect('/docs', 302)
      : reply.type('application/json; charset=utf-8').send(leadsTo),
  )
}
