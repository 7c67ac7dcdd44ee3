import { readEachTime, type Wanted, want } from '#ground/epochs/fresh.ts'
import { type Action, type Relation, relationKeys } from '#rails/authz/actions.ts'
import { type Related, relationsTo } from './decision-queries.ts'
import type { PlacedQuestion } from './question.ts'

/** How people stand to these: no epoch tells who owns a machine, or was let into it. */
const relations = readEachTime<Related, readonly Relation[]>({
  name: 'relations',
  textOf: ({ type, id, user_id, project_id }) => `${type} ${id} ${user_id} ${project_id}`,
  tenantOf: () => null,
  load: async (tx, asked) => {
    const found = await tx.many(relationsTo(asked))
    const made = asked.map((): readonly Relation[] => [])
    for (const { n, is_owner, is_grantee } of found)
      made[n - 1] = [...(is_owner ? (['allocation_owner'] as const) : []), ...(is_grantee ? (['grantee'] as const) : [])]
    return made
  },
})

const ofAllocations: readonly string[] = ['allocation', 'access_grant']
const isGivenByOne = (action: Action): boolean => relationKeys.allocation_owner.has(action) || relationKeys.grantee.has(action)

/** To be read for this question; null: however the actor stands to the resource, the question does not say it, or it gives nothing. */
export const wantRelations = ({ actor, action, resource_type, place }: PlacedQuestion): Wanted<readonly Relation[]> | null => {
  const { id, project_id } = place
  if (id === null || project_id === null || actor.type !== 'user') return null
  if (!ofAllocations.includes(resource_type) || !isGivenByOne(action)) return null
  return want(relations, { type: resource_type, id, user_id: actor.id, project_id })
}
