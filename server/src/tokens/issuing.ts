import { type IssuerParts, tokenIssuer } from './issue-token.ts'
import { denialRecorder } from './record-denial.ts'
import { serviceAccountGate } from './verify-service-account.ts'

/** The gate and the issuer, once for a process: what is slowed at one door is slowed at all, and what comes together is written together. */
export const gateAndIssuer = (parts: IssuerParts) => {
  const denials = denialRecorder(parts)
  return { gate: serviceAccountGate(parts, denials), issue: tokenIssuer(parts, denials), denials }
}
export type GateAndIssuer = ReturnType<typeof gateAndIssuer>
