import type { FreshReader } from '../epochs/fresh.ts'
import type { IssuerParts } from '../tokens/issue-token.ts'
import type { GateAndIssuer } from '../tokens/issuing.ts'
import type { Actor } from '../work/work.ts'

export interface OAuthParts extends IssuerParts, GateAndIssuer {
  /** Who a bearer token speaks for. */
  readonly identify: (token: string, correlation_id: string, fresh: FreshReader) => Promise<Actor>
}
