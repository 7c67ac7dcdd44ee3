import type { ActorType } from '@gatehouse/contract/operation'

/** Whom tokens are issued to: every class of actor but people, who bring their own. */
export type MachineClass = Exclude<ActorType, 'user'>

/**
 * The `typ` in the header of each class. It is signed with the rest, so that a token of one class can be taken for another's neither by
 * mistake nor by intent.
 */
export const typeOf = {
  service_account: 'sa+jwt',
  shared_runtime_operator: 'sro+jwt',
  workload: 'wl+jwt',
  node_agent: 'na+jwt',
  platform_operator: 'po+jwt',
} as const satisfies Record<MachineClass, string>

export type TokenType = (typeof typeOf)[MachineClass]

const types: ReadonlySet<string> = new Set(Object.values(typeOf))
export const isTokenType = (typ: string): typ is TokenType => types.has(typ)
