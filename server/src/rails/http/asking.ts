import type { Database } from '#ground/db/database.ts'
import type { FreshReader } from '#ground/epochs/fresh.ts'
import type { Actor, Work } from '#ground/work/work.ts'
import type { Append } from '../audit/append.ts'
import type { ActorClasses } from '../authz/actor-class.ts'
import type { Cursors } from './cursor.ts'
import type { RequestHash } from './idempotency.ts'
import type { Noun } from './noun.ts'
import type { Bulkheads } from './tenant-database.ts'

export interface Rails {
  /** Who can ask, by class; and what the record can name. Rooms declare both. */
  readonly actors: ActorClasses
  readonly nouns: readonly Noun[]
  readonly database: Database
  readonly cursors: Cursors
  readonly hashRequest: RequestHash
  readonly append: Append
  readonly duplicate_wait_ms?: number
  /** What keeps tenants out of each other's way, at all listeners of a process. */
  readonly bulkheads: Bulkheads
  /** The tenant of the place that a path names, if the actor is of that tenant. */
  readonly tenantNamed?: (fresh: FreshReader, actor: Actor, params: Readonly<Record<string, string>>) => Promise<string | undefined>
}

/** What a request says, read and of the shape that its operation declares. */
export interface Asking {
  readonly params: Record<string, string>
  readonly query: Record<string, unknown>
  readonly body: unknown
  readonly project_header: string | undefined
  /** Of the nodes' protocol; 1 at the other door, where nobody asks for it. */
  readonly node_protocol: number
}

/** A work before its transaction. */
export type Outer = Omit<Work, 'tx' | 'now'>
