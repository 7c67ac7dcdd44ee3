import type { GivenPermission } from '@gatehouse/contract/roles'
import { Problem } from '#ground/kernel/problem.ts'
import { type Action, actions, isAction, isGrantable } from '#rails/authz/actions.ts'

const keyOf = (given: GivenPermission): string => (typeof given === 'string' ? given : given.key)

const refuse = (index: number, key: string, message: string): never => {
  throw new Problem('validation_error', [
    { in: 'body', field: `permissions/${index}`, message: `${JSON.stringify(key.slice(0, 100))} ${message}` },
  ])
}

/**
 * What a custom role of a tier may hold: registered keys that can be given there, each once; for service accounts only those fit for
 * them. Whoever could put more into a role would have no ceiling.
 */
export const requireGrantable = (
  given: readonly GivenPermission[],
  tier: 'tenant' | 'project',
  is_for_service_accounts: boolean,
): Action[] => {
  const keys = given.map(keyOf)
  return keys.map((key, index) => {
    if (!isAction(key)) return refuse(index, key, 'is not a known permission')
    if (!isGrantable(key, tier)) return refuse(index, key, `cannot be given by a role of this tier`)
    if (is_for_service_accounts && !actions[key].fit_for_service_accounts) return refuse(index, key, 'is not fit for service accounts')
    if (keys.indexOf(key) !== index) return refuse(index, key, 'is named twice')
    return key
  })
}

/** The service accounts that hold a role are those that were bound to a version fit for them: a flag cannot make an unfit one fit. */
export const requireFitting = (keys: readonly string[], is_for_service_accounts: boolean): void => {
  if (!is_for_service_accounts) return
  const index = keys.findIndex((key) => !actions[key as Action]?.fit_for_service_accounts)
  if (index >= 0) refuse(index, keys[index]!, 'is not fit for service accounts')
}
