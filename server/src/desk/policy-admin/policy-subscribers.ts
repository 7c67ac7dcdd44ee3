import type { Work } from '#ground/work/work.ts'

/** Rooms above that act in the same transaction when a limit is another one; nobody's id: everywhere. */
export interface PolicySubscribers {
  readonly onPolicyChanged: readonly ((
    work: Work,
    changed: { readonly key: string; readonly org_id: string | null; readonly project_id: string | null },
  ) => Promise<void>)[]
}
