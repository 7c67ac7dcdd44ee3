import type { FastifyInstance } from 'fastify'
import type { TenantTurns } from './tenant-turns.ts'

/** What every request takes is not counted: a decision is read and written in less. */
const free_ms = 0.1

/** Parsing a body and serialising an answer cannot be divided: the tenant is charged for them afterwards. */
export const chargeRequests = (app: FastifyInstance, turns: Pick<TenantTurns, 'charge'>): void => {
  app.addHook('preSerialization', (request, _reply, payload, done) => {
    request.written_from = performance.now()
    done(null, payload)
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    const { paid_by, written_from, reading } = request
    const took_ms = (written_from === 0 ? 0 : performance.now() - written_from) + (reading?.milliseconds ?? 0)
    if (paid_by !== undefined && took_ms > free_ms) turns.charge(paid_by, took_ms)
    done(null, payload)
  })
}
