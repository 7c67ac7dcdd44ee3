import type { Actor } from '#ground/work/work.ts'
import type { Caller } from '#rails/http/answer.ts'
import { type Claimed, type GateParts, keepOwners, type Prove } from './credential-gate.ts'
import { type IssuerParts, tokenIssuer } from './issue-token.ts'
import { lanePlaces } from './lanes.ts'
import { lastUses } from './last-uses.ts'
import { denialRecorder } from './record-denial.ts'
import { slowDownWrongs } from './slow-down.ts'
import { operatorGate } from './verify-operator.ts'
import { serviceAccountGate } from './verify-service-account.ts'

/** The gates and the issuer, once for a process: what is slowed at one door is slowed at all, and what comes together is written together. */
export const gateAndIssuer = (parts: IssuerParts) => {
  const places = lanePlaces(parts.database)
  const denials = denialRecorder(parts, places)
  const uses = lastUses()
  const shared: GateParts = { ...parts, denials, slow: slowDownWrongs(), ownerOf: keepOwners(parts) }
  const [gate, operators] = [serviceAccountGate(shared, uses), operatorGate(shared)]
  return {
    gate,
    operators,
    /** For whoever names a key alone: of whichever class it is. What is nobody's is looked for as a service account's. */
    verifierOf: (caller: Caller, claimed: Pick<Claimed, 'key_id'>, prove: Prove) => {
      const [ofAccount, ofOperator] = [gate.verifier(caller, claimed, prove), operators.verifier(caller, claimed, prove)]
      return async (fresh: Caller['fresh']) => {
        const owner = await shared.ownerOf(claimed.key_id)
        return owner?.type === 'shared_runtime_operator' ? ofOperator(fresh) : ofAccount(fresh)
      }
    },
    /** The same where nothing is issued: only whose it is. */
    identifyOwner: async (caller: Caller, claimed: Pick<Claimed, 'key_id'>, prove: Prove): Promise<Actor> => {
      const owner = await shared.ownerOf(claimed.key_id)
      if (owner?.type !== 'shared_runtime_operator') return gate.identify(caller, claimed, prove)
      return (await operators.open(caller, claimed, prove)).actor
    },
    issue: tokenIssuer(parts, denials, uses, places),
    denials,
  }
}
export type GateAndIssuer = ReturnType<typeof gateAndIssuer>
