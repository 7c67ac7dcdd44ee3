import type { Engine } from './engine.ts'
import { fromPeers } from './peers.ts'
import { permissionsByRole, type Question } from './questions.ts'
import { byPerson } from './store.ts'

interface Abilities {
  can(action: string, subject: string): boolean
}
interface Casl {
  Ability: new (rules: readonly { action: readonly string[]; subject: string }[]) => Abilities
}

/** A scope is CASL's subject: no condition has to be matched, which is its quickest way. */
const rulesOf = (scopes: ReadonlyMap<string, readonly string[]>) =>
  [...scopes].flatMap(([subject, roles]) => roles.map((role) => ({ action: permissionsByRole[role] ?? [], subject })))

const ask = (ability: Abilities, { action, tenant_id, project_id }: Question): boolean =>
  (project_id !== null && ability.can(action, project_id)) ||
  (tenant_id !== null && ability.can(action, tenant_id)) ||
  ability.can(action, 'platform')

export const casl: Engine = {
  name: 'CASL',
  prepare: async (store) => {
    const { Ability } = await fromPeers<Casl>('@casl/ability')
    const people = new Map([...byPerson(await store.everyRole())].map(([id, scopes]) => [id, new Ability(rulesOf(scopes))]))
    return (question) => ask(people.get(question.user_id)!, question)
  },
  cold: async (store) => {
    const { Ability } = await fromPeers<Casl>('@casl/ability')
    const nothing = new Map<string, string[]>()
    return async (question) => {
      const scopes = byPerson(await store.rolesFor(question)).get(question.user_id) ?? nothing
      return ask(new Ability(rulesOf(scopes)), question)
    }
  },
}
