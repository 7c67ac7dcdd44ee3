import type { Epoch } from './epoch-queries.ts'

/** The platform's epoch stands under this id. */
export const platformScope = '00000000-0000-0000-0000-000000000000'

/** One instant of the database, as its epochs tell it. */
export interface Moment {
  /** The database's clock then. */
  readonly now: string
  /** Of every scope that was asked about; a tenant's stamp has the platform's in it. Of what is not in here the moment tells nothing. */
  readonly epochs: ReadonlyMap<string, Epoch>
}

const never = { value: 0, stamp: '-' }

/** The moment that was read for these scopes, of which the platform is one; a scope without a row has never changed. */
export const momentOf = (now: string, scopes: Iterable<string>, read: readonly Epoch[]): Moment => {
  const found = new Map(read.map((epoch) => [epoch.id, epoch]))
  const platform = { id: platformScope, ...(found.get(platformScope) ?? never) }
  const epochs = new Map<string, Epoch>()
  for (const id of scopes) {
    const { value, stamp } = found.get(id) ?? never
    epochs.set(id, { id, value, stamp: `${platform.stamp} ${stamp}` })
  }
  return { now, epochs: epochs.set(platformScope, platform) }
}

/** Whether something of this tenant is proved to be as it was under this stamp. */
export const isStillSo = (stamp: string | undefined, { epochs }: Moment, tenant_id: string | null): boolean => {
  const epoch = epochs.get(tenant_id ?? platformScope)
  return epoch !== undefined && epoch.stamp === stamp
}

/** What must be the same for something of this tenant to be still so. */
export const stampOf = ({ epochs }: Moment, tenant_id: string | null): string => {
  const epoch = epochs.get(tenant_id ?? platformScope)
  if (!epoch) throw new Error('the moment was not asked about this tenant')
  return epoch.stamp
}

/** The state that answers rest on, in a word: the platform's epoch and those of the tenants concerned, in the order of their ids. */
export const revisionOf = ({ epochs }: Moment, tenant_ids: readonly string[]): string => {
  const epochOf = (scope: string) => epochs.get(scope)?.value ?? 0
  // Almost always there is one.
  const tenants = tenant_ids.length < 2 ? tenant_ids : [...new Set(tenant_ids)].sort()
  let revision = `${epochOf(platformScope)}`
  for (const tenant_id of tenants) revision += `.${epochOf(tenant_id)}`
  return revision
}
