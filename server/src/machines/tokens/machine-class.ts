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

/** As stock clients and resource servers of OAuth know an access token (RFC 9068); its claims say which class it is of. */
export const accessTokenType = 'at+jwt'

export type TokenType = (typeof typeOf)[MachineClass] | typeof accessTokenType
