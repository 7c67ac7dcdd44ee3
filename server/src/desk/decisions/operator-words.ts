import { type Action, actions, delegatedKeys, operatorKeys, type Tier } from '#rails/authz/actions.ts'
import { type DecisionInput, isGivenByClass } from '#rails/authz/decide.ts'

const isDelegable = (action: Action): boolean => Object.values(delegatedKeys).includes(action)
const attach: Action = 'shared_runtime.attach'
const onList = ({ resource }: Pick<DecisionInput, 'resource'>): string => {
  const list = 'on the list of those that the operator of this runtime may attach.'
  return resource.project_id === null ? `The question must name a project ${list}` : `The project must be ${list}`
}
const attached = 'The project must be attached to the operator’s runtime.'
const delegated = (action: Action): string => `The organization must delegate ${action} to the operator of this runtime.`
const never = (action: Action): string => `Nobody can give ${action} to an operator.`

/** What is told of an operator instead of roles and memberships, of which it has none. */
export const operatorWords = {
  disabled: 'The operator’s runtime is disabled, or gone.',
  missingEnabled: 'The runtime must be enabled again.',
  notMember: (action: Action): string =>
    action === attach
      ? 'The organization is gone, or the project is none that the operator may attach.'
      : 'The organization is gone, or the project is not attached to the operator’s runtime.',
  member: 'The operator’s runtime is in use, and so is its way to the project.',
  notGiven: (action: Action): string => `Neither the list of what operators may do nor the runtime’s own delegation has ${action}.`,
  given: (action: Action): string =>
    operatorKeys.has(action)
      ? `The list of what operators may do has ${action}.`
      : `The organization has delegated ${action} to the operator of this runtime.`,
  /** Of one that is unknown, another tenant's, or not the caller's to read: these answer alike. */
  untold: 'The runtime must be one of this organization, and yours to read.',
  missingMember: (action: Action, facts: Pick<DecisionInput, 'actor' | 'resource' | Tier>): string[] => {
    if (!facts.tenant.is_member) return ['Nothing would do: the organization is gone.']
    if (action === attach) return [onList(facts)]
    if (facts[actions[action].tier].allowed.has(action) || isGivenByClass(action, facts)) return [attached]
    return isDelegable(action) ? [attached, delegated(action)] : [never(action)]
  },
  missingKey: (action: Action, facts: Pick<DecisionInput, 'resource' | Tier>): string[] => {
    if (!isDelegable(action)) return [never(action)]
    // Of what is not delegated no list was looked at.
    return action === attach && !facts.project.is_eligible ? [delegated(action), onList(facts)] : [delegated(action)]
  },
} as const
