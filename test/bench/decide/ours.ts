import { keepFresh, want } from '@gatehouse/server/ground/epochs/fresh'
import { decide } from '@gatehouse/server/rails/authz/decide'
import { factsOf, nobody } from '@gatehouse/server/rails/authz/facts'
import { standings } from '@gatehouse/server/rails/authz/read-standings'
import type { Standing } from '@gatehouse/server/rails/authz/standing'
import type { Constraint } from '@gatehouse/server/rails/policies/constraint'
import { readChains, wantChain } from '@gatehouse/server/rails/policies/constraint-chain'
import type { Engine } from './engine.ts'
import type { Question } from './questions.ts'

const now = new Date().toISOString()
const none = {}

interface Known {
  readonly standing: Standing | undefined
  readonly chain: readonly Constraint[]
}

const isAllowed = ({ user_id, action, tenant_id, project_id }: Question, { standing, chain }: Known) => {
  const actor = { type: 'user', id: user_id } as const
  const place = { id: null, tenant_id, project_id, relations: [] }
  const facts = factsOf(standing ?? nobody(actor), chain, { actor, place, resource_type: 'allocation', attributes: none, now })
  return decide(action, facts).decision === 'allow'
}

const keyOf = ({ user_id: actor_id, tenant_id, project_id }: Question) => ({ actor_id, tenant_id, project_id })

/** What is known of a person, place by place: they are few, and looked through in turn. */
type Kept = Map<string, (Known & Pick<Question, 'tenant_id' | 'project_id'>)[]>

const knownIn = (kept: Kept, { user_id, tenant_id, project_id }: Question): Known | undefined => {
  for (const place of kept.get(user_id) ?? []) if (place.project_id === project_id && place.tenant_id === tenant_id) return place
  return undefined
}

export const ours: Engine = {
  name: 'gatehouse',
  prepare: async ({ database }, questions) => {
    const kept: Kept = new Map()
    for (let from = 0; from < questions.length; from += 1000) {
      const some = questions.slice(from, from + 1000)
      const [people, chains] = await database.transaction('read', async (tx) => [
        await standings.load(tx, some.map(keyOf)),
        await readChains(tx, some),
      ])
      for (const [index, question] of some.entries()) {
        if (knownIn(kept, question)) continue
        const { user_id, tenant_id, project_id } = question
        kept.set(user_id, [...(kept.get(user_id) ?? []), { tenant_id, project_id, standing: people[index], chain: chains[index]! }])
      }
    }
    return (question) => isAllowed(question, knownIn(kept, question)!)
  },
  // The product's own reader with room for nothing: whatever is asked for is read.
  cold: async ({ database }) => {
    const fresh = keepFresh(database, { most_entries: 0, limit_ms: 60_000 })
    return async (question) => {
      const { values } = await fresh.forRequest().read([want(standings, keyOf(question)), wantChain(question)])
      const [standing, chain = []] = values
      return isAllowed(question, { standing, chain })
    }
  },
}
