import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { holdSshKeys, type SshKeyRow } from '../ssh-keys/ssh-key-queries.ts'
import type { AllocationRow } from './allocation.ts'
import { shareUser } from './allocation-queries.ts'

/** What an allocation's own keys may be, held so that neither owner nor keys end meanwhile. */
export interface HeldKeys {
  /** Null: there is none, or he is disabled. */
  readonly owner_user_id: string | null
  readonly keys: readonly SshKeyRow[]
}

/** In this order: people before keys. */
export const holdKeys = async (work: Work, owner_user_id: string | null, ids: readonly string[]): Promise<HeldKeys> => ({
  owner_user_id: owner_user_id === null ? null : ((await work.tx.maybe(shareUser(owner_user_id)))?.id ?? null),
  keys: ids.length === 0 ? [] : await work.tx.many(holdSshKeys(ids)),
})

/** Personal keys of the owner, and those of the project's automation; any other is as good as none. */
export const requireOwnKeys = (
  { project_id }: Pick<AllocationRow, 'project_id'>,
  { owner_user_id, keys }: HeldKeys,
  ids: readonly string[],
): void => {
  const isOwn = (key: SshKeyRow) =>
    key.project_id === project_id || (key.user_id !== null && owner_user_id !== null && key.user_id === owner_user_id)
  const own = new Set(keys.filter(isOwn).map(({ id }) => id))
  if (!ids.every((id) => own.has(id))) throw new Problem('ssh_key_not_found')
}
