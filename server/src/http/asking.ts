import type { Append } from '../audit/append.ts'
import type { Database } from '../db/database.ts'
import type { Work } from '../work/work.ts'
import type { Cursors } from './cursor.ts'
import type { RequestHash } from './idempotency.ts'

export interface Rails {
  readonly database: Database
  readonly cursors: Cursors
  readonly hashRequest: RequestHash
  readonly append: Append
  readonly duplicate_wait_ms?: number
}

/** What a request says, read and of the shape that its operation declares. */
export interface Asking {
  readonly params: Record<string, string>
  readonly query: Record<string, unknown>
  readonly body: unknown
  readonly project_header: string | undefined
}

/** A work before its transaction. */
export type Outer = Omit<Work, 'tx' | 'now'>
