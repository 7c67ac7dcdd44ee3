import type { Engine } from './engine.ts'
import { lanes } from './engine.ts'
import { fromPeers } from './peers.ts'
import { permissionsByRole, type Question } from './questions.ts'
import type { HeldRole, Store } from './store.ts'

type Model = object
interface Adapter {
  loadPolicy(model: Model): Promise<void>
  isFiltered(): boolean
  loadFilteredPolicy(model: Model, filter: Question): Promise<void>
}
interface Enforcer {
  loadFilteredPolicy(filter: Question): Promise<boolean>
  enforceSync(...request: string[]): boolean
}
interface Casbin {
  newModelFromString(text: string): Model
  newEnforcer(model: Model, adapter: Adapter): Promise<Enforcer>
  Helper: { loadPolicyLine(line: string, model: Model): void }
}

/** The action first: it rules out nearly every line before a role has to be looked for. */
const text = `
[request_definition]
r = sub, tenant, project, act
[policy_definition]
p = sub, act
[role_definition]
g = _, _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.act == p.act && (g(r.sub, p.sub, r.project) || g(r.sub, p.sub, r.tenant) || g(r.sub, p.sub, "platform"))
`
const lines = Object.entries(permissionsByRole).flatMap(([role, keys]) => keys.map((key) => `p, ${role}, ${key}`))

const adapterOf = ({ Helper }: Casbin, store: Store): Adapter => {
  const load = (model: Model, roles: readonly HeldRole[]) => {
    for (const line of lines) Helper.loadPolicyLine(line, model)
    for (const { user_id, role, scope } of roles) Helper.loadPolicyLine(`g, ${user_id}, ${role}, ${scope}`, model)
  }
  return {
    isFiltered: () => true,
    loadPolicy: async (model) => load(model, await store.everyRole()),
    loadFilteredPolicy: async (model, question) => load(model, await store.rolesFor(question)),
  }
}

const ask = (enforcer: Enforcer, { user_id, tenant_id, project_id, action }: Question): boolean =>
  enforcer.enforceSync(user_id, tenant_id ?? '-', project_id ?? '-', action)

const idle = (adapter: Adapter): Adapter => ({ ...adapter, loadPolicy: async () => {} })

export const casbin: Engine = {
  name: 'casbin',
  prepare: async (store) => {
    const library = await fromPeers<Casbin>('casbin')
    const adapter = { ...adapterOf(library, store), isFiltered: () => false }
    const enforcer = await library.newEnforcer(library.newModelFromString(text), adapter)
    return (question) => ask(enforcer, question)
  },
  // One enforcer for each question under way, kept from question to question; its filtered adapter reads the person's lines each time.
  cold: async (store) => {
    const library = await fromPeers<Casbin>('casbin')
    const adapter = idle(adapterOf(library, store))
    const enforcers = await Promise.all(Array.from({ length: lanes }, () => library.newEnforcer(library.newModelFromString(text), adapter)))
    return async (question, lane) => {
      const enforcer = enforcers[lane]!
      await enforcer.loadFilteredPolicy(question)
      return ask(enforcer, question)
    }
  },
}
