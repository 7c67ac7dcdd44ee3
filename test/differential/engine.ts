import type { ActorType } from '@gatehouse/contract/operation'
import type { Database, Tx } from '../../server/src/ground/db/database.ts'
import { isAction, type Relation } from '../../server/src/rails/authz/actions.ts'
import type { RequestAttributes } from '../../server/src/rails/authz/attributes.ts'
import { type Decision, decide, type Elevation, elevationFor, isOverridden } from '../../server/src/rails/authz/decide.ts'
import { factsOf, nobody } from '../../server/src/rails/authz/facts.ts'
import { readStandingsOf } from '../../server/src/rails/authz/read-standings.ts'
import type { Standing } from '../../server/src/rails/authz/standing.ts'
import { readChains } from '../../server/src/rails/policies/constraint-chain.ts'

/** One thing to be decided, in a world that lies in the database. */
export interface Question {
  readonly actor_type?: Extract<ActorType, 'user' | 'service_account' | 'shared_runtime_operator'>
  readonly actor_id: string
  readonly action: string
  readonly resource_type: string
  readonly resource_id: string | null
  readonly tenant_id: string | null
  readonly project_id: string | null
  /** Besides being the resource himself. */
  readonly relations?: readonly Relation[]
  readonly attributes: RequestAttributes
  readonly token: {
    readonly tenant_id: string | null
    readonly project_id: string | null
    readonly shared_runtime_id?: string | null
    readonly actions: readonly string[] | null
  } | null
  readonly elevations: readonly Elevation[]
  readonly now: string
}

export interface Verdict extends Decision {
  readonly break_glass_id: string | null
}

/** In the order of the questions; those of one type are read together. */
const standingsOf = async (tx: Tx, questions: readonly Question[]): Promise<(Standing | undefined)[]> => {
  const found: (Standing | undefined)[] = []
  for (const [type, asked] of Map.groupBy(questions.entries(), ([, { actor_type = 'user' }]) => actor_type)) {
    const keys = asked.map(([, { actor_id, tenant_id, project_id }]) => ({ actor_id, tenant_id, project_id }))
    const read = await readStandingsOf(tx, type, keys)
    for (const [at, [index]] of asked.entries()) found[index] = read[at]
  }
  return found
}

/** What the product says: its own reader of facts on the real tables, then its own decision. */
export const judge = async (database: Database, questions: readonly Question[]): Promise<Verdict[]> =>
  database.transaction('read', async (tx) => {
    const standings = await standingsOf(tx, questions)
    const chains = await readChains(tx, questions)
    return questions.map((question, index) => {
      const { actor_type = 'user', actor_id, action, resource_type, resource_id, attributes, token, elevations, now } = question
      const { tenant_id, project_id } = question
      if (!isAction(action)) throw new Error(`${action} is not registered`)
      const isSelf = actor_type === 'user' && resource_type === 'user' && resource_id === actor_id
      const relations: readonly Relation[] = [...(isSelf ? (['self'] as const) : []), ...(question.relations ?? [])]
      const shared_runtime_id = resource_type === 'shared_runtime' ? resource_id : null
      const facts = factsOf(standings[index] ?? nobody({ id: actor_id }), chains[index]!, {
        actor: { type: actor_type, id: actor_id },
        place: { id: resource_id, tenant_id, project_id, shared_runtime_id, relations },
        resource_type,
        attributes,
        now,
      })
      const input = {
        ...facts,
        token: token ? { ...token, actions: token.actions && new Set(token.actions) } : facts.token,
        elevations,
      }
      const decision = decide(action, input)
      const used = decision.decision === 'allow' && !isOverridden(action, input) ? elevationFor(action, input) : undefined
      return { ...decision, break_glass_id: used?.id ?? null }
    })
  })
