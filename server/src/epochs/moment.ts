import type { Epoch } from './epoch-queries.ts'

/** The platform's epoch stands under this id. */
export const platformScope = '00000000-0000-0000-0000-000000000000'

/** One instant of the database, as its epochs tell it. */
export interface Moment {
  /** The database's clock then. */
  readonly now: string
  readonly epochs: ReadonlyMap<string, Epoch>
}

const never = { value: 0, stamp: '-' }
const epochIn = ({ epochs }: Moment, scope: string) => epochs.get(scope) ?? never

/** What must be the same for something of this tenant to be still so. */
export const stampOf = (moment: Moment, tenant_id: string | null): string => {
  const platform = epochIn(moment, platformScope).stamp
  return tenant_id === null ? platform : `${platform} ${epochIn(moment, tenant_id).stamp}`
}

/** The state that answers rest on, in a word: the platform's epoch and those of the tenants concerned, in the order of their ids. */
export const revisionOf = (moment: Moment, tenant_ids: Iterable<string>): string =>
  [platformScope, ...[...new Set(tenant_ids)].sort()].map((scope) => epochIn(moment, scope).value).join('.')
