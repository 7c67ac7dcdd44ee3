import type { Engine } from './engine.ts'
import { fromPeers } from './peers.ts'
import { permissionsByRole, type Question } from './questions.ts'
import { byPerson } from './store.ts'

interface EntityId {
  type: string
  id: string
}
interface Cedar {
  preparsePolicySet(id: string, policies: { staticPolicies: string }): { type: string }
  statefulIsAuthorized(call: {
    principal: EntityId
    action: EntityId
    resource: EntityId
    context: object
    preparsedPolicySetId: string
    entities: { uid: EntityId; attrs: object; parents: EntityId[] }[]
  }): { type: string; response: { decision: 'allow' | 'deny' } }
}

/** A person has, per role, the scopes in which he holds it; a resource has the scopes it lies in. */
const policies = Object.entries(permissionsByRole)
  .filter(([, keys]) => keys.length > 0)
  .map(([role, keys]) => {
    const named = keys.map((key) => `Action::"${key}"`).join(', ')
    return `permit (principal, action in [${named}], resource) when { principal has ${role} && resource.scopes.containsAny(principal.${role}) };`
  })
  .join('\n')

const attrsOf = (scopes: ReadonlyMap<string, readonly string[]>): Record<string, string[]> => {
  const attrs: Record<string, string[]> = {}
  for (const [scope, roles] of scopes) for (const role of roles) attrs[role] = [...(attrs[role] ?? []), scope]
  return attrs
}

/** The policies are parsed once; entities are part of each call, which is how this library wants them. */
const asking = async () => {
  const cedar = await fromPeers<Cedar>('@cedar-policy/cedar-wasm/nodejs')
  const parsed = cedar.preparsePolicySet('bench', { staticPolicies: policies })
  if (parsed.type !== 'success') throw new Error(`cedar does not read its policies: ${JSON.stringify(parsed)}`)
  return ({ user_id, action, tenant_id, project_id }: Question, attrs: Record<string, string[]>): boolean => {
    const principal = { type: 'User', id: user_id }
    const resource = { type: 'Resource', id: 'asked' }
    const scopes = ['platform', tenant_id, project_id].filter((scope) => scope !== null)
    const answer = cedar.statefulIsAuthorized({
      principal,
      action: { type: 'Action', id: action },
      resource,
      context: {},
      preparsedPolicySetId: 'bench',
      entities: [
        { uid: principal, attrs, parents: [] },
        { uid: resource, attrs: { scopes }, parents: [] },
      ],
    })
    if (answer.type !== 'success') throw new Error(`cedar cannot answer: ${JSON.stringify(answer)}`)
    return answer.response.decision === 'allow'
  }
}
const nothing = new Map<string, string[]>()

export const cedar: Engine = {
  name: 'cedar-wasm',
  prepare: async (store) => {
    const ask = await asking()
    const people = new Map([...byPerson(await store.everyRole())].map(([id, scopes]) => [id, attrsOf(scopes)]))
    return (question) => ask(question, people.get(question.user_id)!)
  },
  cold: async (store) => {
    const ask = await asking()
    return async (question) => ask(question, attrsOf(byPerson(await store.rolesFor(question)).get(question.user_id) ?? nothing))
  },
}
