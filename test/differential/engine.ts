import { isAction, type Relation } from '../../server/src/authz/actions.ts'
import type { RequestAttributes } from '../../server/src/authz/attributes.ts'
import { type Decision, decide, type Elevation, elevationFor, isOverridden } from '../../server/src/authz/decide.ts'
import { factsOf, nobody } from '../../server/src/authz/facts.ts'
import { readStandings } from '../../server/src/authz/standing.ts'
import type { Database } from '../../server/src/db/database.ts'
import { readChains } from '../../server/src/policies/constraint-chain.ts'

/** One thing to be decided, in a world that lies in the database. */
export interface Question {
  readonly actor_id: string
  readonly action: string
  readonly resource_type: string
  readonly resource_id: string | null
  readonly tenant_id: string | null
  readonly project_id: string | null
  readonly attributes: RequestAttributes
  readonly token: {
    readonly tenant_id: string | null
    readonly project_id: string | null
    readonly actions: readonly string[] | null
  } | null
  readonly elevations: readonly Elevation[]
  readonly now: string
}

export interface Verdict extends Decision {
  readonly break_glass_id: string | null
}

/** What the product says: its own reader of facts on the real tables, then its own decision. */
export const judge = async (database: Database, questions: readonly Question[]): Promise<Verdict[]> =>
  database.transaction('read', async (tx) => {
    const standings = await readStandings(
      tx,
      questions.map(({ actor_id, tenant_id, project_id }) => ({ user_id: actor_id, tenant_id, project_id })),
    )
    const chains = await readChains(tx, questions)
    return questions.map((question, index) => {
      const { actor_id, action, resource_type, resource_id, tenant_id, project_id, attributes, token, elevations, now } = question
      if (!isAction(action)) throw new Error(`${action} is not registered`)
      const relations: readonly Relation[] = resource_type === 'user' && resource_id === actor_id ? ['self'] : []
      const input = {
        ...factsOf(standings[index] ?? nobody({ id: actor_id }), chains[index]!, {
          actor: { type: 'user', id: actor_id },
          place: { id: resource_id, tenant_id, project_id, relations },
          resource_type,
          attributes,
          now,
        }),
        token: token && { ...token, actions: token.actions && new Set(token.actions) },
        elevations,
      }
      const decision = decide(action, input)
      const used = decision.decision === 'allow' && !isOverridden(action, input) ? elevationFor(action, input) : undefined
      return { ...decision, break_glass_id: used?.id ?? null }
    })
  })
