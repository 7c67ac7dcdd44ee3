import type { ActorType } from '@gatehouse/contract/operation'
import { actions, delegatedKeys, membershipKeys, operatorKeys } from './actions.ts'

/** What being in a project gives there, to a machine as to a person. */
export const keysOfBelonging: readonly string[] = Object.entries(membershipKeys).flatMap(([key, where]) =>
  where === 'project' ? [key] : [],
)

const fitForServiceAccounts = Object.entries(actions).flatMap(([key, { fit_for_service_accounts: is_fit }]) => (is_fit ? [key] : []))

/** What a token of a class of machines can carry at all. A class that is not here has nothing to carry yet. */
const carried: Partial<Record<ActorType, ReadonlySet<string>>> = {
  service_account: new Set([...fitForServiceAccounts, ...keysOfBelonging]),
  shared_runtime_operator: new Set([...operatorKeys, ...Object.values(delegatedKeys)]),
}
const nothing: ReadonlySet<string> = new Set()
export const carriedInTokens = (actor_type: ActorType): ReadonlySet<string> => carried[actor_type] ?? nothing
