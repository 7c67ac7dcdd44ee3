import { type Action, delegatedKeys, operatorKeys } from '../authz/actions.ts'

/** What is told of an operator instead of roles and memberships, of which it has none. */
const isDelegable = (action: Action): boolean => Object.values(delegatedKeys).includes(action)

export const operatorWords = {
  disabled: 'The operator’s runtime is disabled, or gone.',
  missingEnabled: 'The runtime must be enabled again.',
  notMember: (action: Action): string =>
    action === 'shared_runtime.attach'
      ? 'The organization is gone, or the project is none that the operator may attach.'
      : 'The organization is gone, or the project is not attached to the operator’s runtime.',
  member: 'The operator’s runtime is in use, and so is its way to the project.',
  notGiven: (action: Action): string => `Neither the list of what operators may do nor the runtime’s own delegation has ${action}.`,
  given: (action: Action): string =>
    operatorKeys.has(action)
      ? `The list of what operators may do has ${action}.`
      : `The organization has delegated ${action} to the operator of this runtime.`,
  missingMember: (action: Action): string =>
    action === 'shared_runtime.attach'
      ? 'The project must be on the list of those that the operator of this runtime may attach.'
      : 'The project must be attached to the operator’s runtime.',
  missingKey: (action: Action): string =>
    isDelegable(action)
      ? `The organization must delegate ${action} to the operator of this runtime.`
      : `Nobody can give ${action} to an operator.`,
} as const
