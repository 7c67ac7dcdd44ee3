import type { Epoch } from './epoch-queries.ts'

/** The platform's epoch stands under this id. */
export const platformScope = '00000000-0000-0000-0000-000000000000'

/** One instant of the database, as its epochs tell it. */
export interface Moment {
  /** The database's clock then. */
  readonly now: string
  /** Of every scope that was asked about: what is not in here is not known of this moment. */
  readonly epochs: ReadonlyMap<string, Epoch>
}

/** The moment that was read, with the scopes it was asked about: one without a row has never changed. */
export const momentOf = (now: string, scopes: Iterable<string>, read: readonly Epoch[]): Moment => {
  const epochs = new Map<string, Epoch>()
  for (const id of scopes) epochs.set(id, { id, value: 0, stamp: '-' })
  for (const epoch of read) epochs.set(epoch.id, epoch)
  return { now, epochs }
}

/** What must be the same for something to be still so; of the platform's own there is no tenant. */
export interface Stamps {
  readonly platform: string | undefined
  readonly tenant: string | undefined
}

export const stampsOf = ({ epochs }: Moment, tenant_id: string | null): Stamps => ({
  platform: epochs.get(platformScope)?.stamp,
  tenant: tenant_id === null ? undefined : epochs.get(tenant_id)?.stamp,
})

/** Whether something of this tenant is proved to be as it was; not if the moment was not asked about it. */
export const isStillSo = (stamps: Stamps, { epochs }: Moment, tenant_id: string | null): boolean =>
  isSame(stamps.platform, epochs.get(platformScope)) && (tenant_id === null || isSame(stamps.tenant, epochs.get(tenant_id)))

const isSame = (stamp: string | undefined, epoch: Epoch | undefined) => epoch !== undefined && epoch.stamp === stamp

/** The state that answers rest on, in a word: the platform's epoch and those of the tenants concerned, in the order of their ids. */
export const revisionOf = ({ epochs }: Moment, tenant_ids: Iterable<string>): string =>
  [platformScope, ...[...new Set(tenant_ids)].sort()].map((scope) => epochs.get(scope)?.value ?? 0).join('.')
