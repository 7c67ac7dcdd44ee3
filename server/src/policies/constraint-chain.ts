import type { Reader } from '../db/database.ts'
import type { Source } from '../epochs/fresh.ts'
import type { Constraint } from './constraint.ts'
import { chainsOf } from './constraint-queries.ts'

/** Where a chain of rules ends: in a project of a tenant, in a tenant, or with the platform. */
export interface ChainEnd {
  readonly tenant_id: string | null
  readonly project_id: string | null
}

export const readChains = async (reader: Pick<Reader, 'many'>, ends: readonly ChainEnd[]): Promise<readonly (readonly Constraint[])[]> =>
  (
    await reader.many(
      chainsOf(
        ends.map(({ tenant_id }) => tenant_id),
        ends.map(({ project_id }) => project_id),
      ),
    )
  ).map(({ rules }) => rules)

export const constraintChains: Source<ChainEnd, readonly Constraint[]> = {
  name: 'constraints',
  textOf: ({ tenant_id, project_id }) => `${tenant_id} ${project_id}`,
  tenantOf: ({ tenant_id }) => tenant_id,
  load: readChains,
}
