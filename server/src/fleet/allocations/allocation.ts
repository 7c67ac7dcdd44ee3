import { Allocation } from '@gatehouse/contract/allocations'
import type { Project } from '@gatehouse/contract/projects'
import { Exactly, Instant, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import type { Work } from '#ground/work/work.ts'
import type { Kind, Place } from '#rails/authz/kind.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'

const { waits_for, ...kept } = Allocation.properties

/** One as its table has it. */
export const AllocationRow = Exactly({
  ...kept,
  generation: Type.Integer(),
  epoch: Type.Integer(),
  confirmed_generation: Type.Integer(),
  confirmed_at: Nullable(Instant),
  cleared_at: Nullable(Instant),
  terms_due_at: Nullable(Instant),
})
export type AllocationRow = Static<typeof AllocationRow>

/** The same, and what it waits for, which its nodes say. */
export const WaitingRow = Exactly({ ...AllocationRow.properties, waits_for })
export type WaitingRow = Static<typeof WaitingRow>

type Shape = Pick<AllocationRow, 'region' | 'sku' | 'gpus'>

/** What rules may look at: as it is in the row, or will be. */
export const attributesOf = ({ region, sku, gpus }: Shape): NonNullable<Place['attributes']> => ({ region, sku, gpus, flags: [] })

export const allocationKind: Kind<AllocationRow> = {
  type: 'allocation',
  missing: 'allocation_not_found',
  placeOf: (row, actor) => ({
    id: row.id,
    tenant_id: row.org_id,
    project_id: row.project_id,
    relations: actor.type === 'user' && actor.id === row.owner_user_id ? ['allocation_owner'] : [],
    attributes: attributesOf(row),
  }),
}

/** What a change of who may enter came to on the way to the node. */
export interface Synced {
  /** Of the set that holds what has just changed; null: nothing was sent, and it will be in the first one, or nobody is let in any more. */
  readonly generation: number | null
  readonly task_id: string | null
}
export const nothingSent: Synced = { generation: null, task_id: null }

/** Why all access to an allocation ends. */
export type EndingCause = 'allocation_released' | 'allocation_failed' | 'node_retired'

/** Rooms above that must act in the same transaction when an allocation ends. */
export interface AllocationSubscribers {
  /** `sent` is what asks the node to put it away; nothing where there is nothing, or no node any more. */
  readonly onAllocationEnding: readonly ((
    work: Work,
    allocation: AllocationRow,
    cause: EndingCause,
    reason: string,
    sent: Synced,
  ) => Promise<void>)[]
  /** The whole set was sent because of what all of it rests on: the place that it is in, or the machine that it lies on. */
  readonly onSetMoved: readonly ((work: Work, allocation: AllocationRow, generation: number) => Promise<void>)[]
}

/** What the verbs and reactions of this room are made with. */
export interface AllocationParts extends AllocationSubscribers {
  readonly signing: TaskSigning
}

/** Refuses a shared runtime for which nobody may ask in this project. Called behind the lock of the project and its organization. */
export type RequireTaggable = (work: Work, project: Pick<Project, 'id' | 'org_id'>, shared_runtime_id: string) => Promise<void>

/** Where an event of an allocation's is recorded. */
export const recordedOf = ({ id, org_id, project_id }: Pick<AllocationRow, 'id' | 'org_id' | 'project_id'>) => ({
  resource_type: 'allocation',
  resource_id: id,
  tenant_id: org_id,
  project_id,
})
