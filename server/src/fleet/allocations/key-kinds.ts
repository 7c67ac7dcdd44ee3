import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { readPolicy } from '#rails/policies/read-policy.ts'
import { isVerifying } from '../nodes/node-description-queries.ts'

/** Which keys open something: what policy asks for, and whether the node can be told to have their holders verified. */
export interface KeyRule {
  readonly required: string
  readonly can_verify: boolean
}

const policy = 'access.required_key_kinds'
const isSecurityKey = (key_type: string): boolean => key_type.startsWith('sk-')

interface Place {
  readonly org_id: string
  readonly project_id: string
}

export const requiredKinds = ({ tx }: Pick<Work, 'tx'>, { org_id, project_id }: Place): Promise<string> =>
  readPolicy(tx, policy, { tenant_id: org_id, project_id })

/** As it holds for an allocation now. On no node yet, a node may come that verifies. */
export const keyRuleOf = async (
  { tx }: Pick<Work, 'tx'>,
  { node_id, ...place }: Place & { readonly node_id: string | null },
): Promise<KeyRule> => ({
  required: await requiredKinds({ tx }, place),
  can_verify: node_id === null || (await tx.one(isVerifying(node_id))).is_verifying,
})

/** Whether policy allows this kind of key, wherever it is to open something. */
const isAllowed = (required: string, key_type: string): boolean => required === 'any' || isSecurityKey(key_type)

/** Whether such a key is in the set: what nobody would verify is not, where policy asks for that. */
export const opensWith = ({ required, can_verify }: KeyRule, key_type: string): boolean =>
  isAllowed(required, key_type) && (can_verify || !isVerified({ required }))

export const isVerified = ({ required }: Pick<KeyRule, 'required'>): boolean => required === 'security_key_verified'

/** Refuses to let somebody in with a key of a kind that policy does not allow (SG-27). */
export const requireKinds = async (work: Work, place: Place, keys: readonly { readonly key_type: string }[]): Promise<void> => {
  if (keys.length === 0) return
  const required = await requiredKinds(work, place)
  const refused = keys.find(({ key_type }) => !isAllowed(required, key_type))
  if (refused) throw new Problem('ssh_key_kind_not_allowed', { policy, limit: required, value: refused.key_type })
}
