import type { Actor } from '#ground/work/work.ts'
import type { Showing } from '#rails/http/answer.ts'
import type { ShownToken } from '#rails/http/read-request.ts'
import type { IssuerParts } from '../tokens/issue-token.ts'
import type { GateAndIssuer } from '../tokens/issuing.ts'
import type { Holding } from './holder.ts'
import type { UseProof } from './used-proofs.ts'

export interface OAuthParts extends IssuerParts, GateAndIssuer {
  readonly useProof: UseProof
  readonly holders: Holding
  /** Who a token speaks for. */
  readonly identify: (shown: ShownToken, showing: Showing) => Promise<Actor>
}
