import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, Tx } from '../../server/src/ground/db/database.ts'
import type { Statement } from '../../server/src/ground/db/statement.ts'
import type { Known, Wanted } from '../../server/src/ground/epochs/fresh.ts'
import type { Work } from '../../server/src/ground/work/work.ts'
import type { ServerParts } from '../../server/src/rails/http/server.ts'

interface Broken {
  /** The parts as the product has them, to the parts of this build; `direct` is the database without the seams. */
  readonly parts?: (parts: ServerParts, direct: Database) => ServerParts
  readonly server?: (server: Server) => void
}

const recordsAfter = (parts: ServerParts): ServerParts => {
  const waiting: Work[] = []
  const database: Database = {
    ...parts.database,
    transaction: async (mode, within) => {
      const result = await parts.database.transaction(mode, within)
      for (const work of waiting.splice(0)) await parts.database.transaction('write', (tx) => parts.append({ ...work, tx, now: tx.now }))
      return result
    },
  }
  return { ...parts, database, append: async (work) => void waiting.push(work) }
}

const recordsApart = (parts: ServerParts, direct: Database): ServerParts => ({
  ...parts,
  append: (work) => direct.transaction('write', (tx) => parts.append({ ...work, tx, now: tx.now })),
})

const answersEarly = (parts: ServerParts): ServerParts => ({
  ...parts,
  database: {
    ...parts.database,
    transaction: (mode, within) =>
      new Promise((resolve, reject) => {
        parts.database
          .transaction(mode, async (tx) => {
            const result = await within(tx)
            resolve(result)
            await sleep(150)
            return result
          })
          .catch(reject)
      }),
  },
})

type Answered = Promise<Known<readonly Wanted<unknown>[]>>

/** `until` says how long, from its beginning, a reading may serve others who want the same. */
const sharingReads =
  (until: (reading: Answered) => Promise<unknown>) =>
  (parts: ServerParts): ServerParts => {
    const readings = new Map<string, Answered>()
    return {
      ...parts,
      fresh: {
        ...parts.fresh,
        forRequest: () => {
          const reader = parts.fresh.forRequest()
          return {
            limit_ms: reader.limit_ms,
            read: (wanted) => {
              const name = wanted.map(({ id }) => id).join()
              const known = readings.get(name)
              if (known) return known as never
              const reading: Answered = Promise.resolve(reader.read(wanted))
              readings.set(name, reading)
              until(reading).then(
                () => readings.delete(name),
                () => readings.delete(name),
              )
              return reading as never
            },
          }
        },
      },
    }
  }

/** Believes for a while whom a token speaks for. */
const cachingIdentities =
  (milliseconds: number) =>
  (parts: ServerParts): ServerParts => {
    const known = new Map<string, ReturnType<ServerParts['identify']>>()
    return {
      ...parts,
      identify: (shown, ...rest) => {
        const { token } = shown
        const before = known.get(token)
        if (before) return before
        const found = parts.identify(shown, ...rest)
        known.set(token, found)
        found.catch(() => known.delete(token))
        setTimeout(() => known.delete(token), milliseconds).unref()
        return found
      },
    }
  }

/** Replaces the owner's keys and forgets, when it sends the set, that others were let in. */
const forgetsGrants = (parts: ServerParts): ServerParts => ({
  ...parts,
  database: {
    ...parts.database,
    transaction: (mode, within, options) =>
      parts.database.transaction(
        mode,
        (tx) => {
          let is_replacing = false
          const many: Tx['many'] = async (statement) => {
            const rows = await tx.many(statement)
            if (statement.text.includes('insert into allocation_ssh_public_keys')) is_replacing = true
            const isSet = is_replacing && statement.text.includes('join allocation_access_grants g on g.allocation_id = open.id')
            return isSet ? rows.filter((row) => (row as { grant_id: string | null }).grant_id === null) : rows
          }
          return within({ ...tx, many })
        },
        options,
      ),
  },
})

/** Queues what nodes are to do when all else is done, in a transaction of its own; one time in five something comes between. */
const queuesApart = (parts: ServerParts): ServerParts => {
  let count = 0
  return {
    ...parts,
    database: {
      ...parts.database,
      transaction: async (mode, within, options) => {
        const later: Statement<unknown>[] = []
        const result = await parts.database.transaction(
          mode,
          (tx) => {
            later.length = 0
            const one: Tx['one'] = async (statement) => {
              if (!statement.text.includes('insert into node_tasks')) return tx.one(statement)
              later.push(statement)
              const [
                id,
                node_id,
                type,
                allocation_id,
                org_id,
                project_id,
                params,
                generation,
                kid,
                signature,
                now,
                correlation_id,
                expires_at,
              ] = statement.values
              const task = { id, node_id, type, allocation_id, org_id, project_id, params: JSON.parse(String(params)), generation, kid }
              const waiting = { state: 'queued', dispatched_at: null, dispatched_to: null, attempts: 0, reported_at: null, result: null }
              return statement.parse({ ...task, signature, created_at: now, correlation_id, expires_at, ...waiting })
            }
            return within({ ...tx, one })
          },
          options,
        )
        for (const statement of later) {
          count += 1
          if (count % 5 !== 0) await parts.database.transaction('write', (tx) => tx.many(statement)).catch(() => {})
        }
        return result
      },
    },
  }
}

/** The product, and what it would be with one mistake in it. Each mistake is one that somebody makes somewhere every year. */
const builds = {
  sound: {},
  records_after: { parts: recordsAfter },
  records_apart: { parts: recordsApart },
  answers_early: { parts: answersEarly },
  caches_for_200_ms: { parts: sharingReads(() => sleep(200)) },
  // Spares reads by joining one that is under way, which may have looked before the change.
  joins_reads: { parts: sharingReads((reading) => reading) },
  caches_identities_for_1_s: { parts: cachingIdentities(1000) },
  forgets_grants: { parts: forgetsGrants },
  queues_apart: { parts: queuesApart },
  keeps_no_key: { server: (server) => server.prependListener('request', ({ headers }) => delete headers['idempotency-key']) },
  logs_headers: { server: (server) => server.prependListener('request', ({ headers }) => console.log(JSON.stringify(headers))) },
} satisfies Record<string, Broken>

export type Build = keyof typeof builds
export const brokenAs = (build: Build): Broken => builds[build]
