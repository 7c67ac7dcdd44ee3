import { type IssuerParts, tokenIssuer } from './issue-token.ts'
import { serviceAccountGate } from './verify-service-account.ts'

/** The gate and the issuer, once for a process: what is slowed at one door is slowed at all, and what comes together is written together. */
export const gateAndIssuer = (parts: IssuerParts) => ({ gate: serviceAccountGate(parts), issue: tokenIssuer(parts) })
export type GateAndIssuer = ReturnType<typeof gateAndIssuer>
