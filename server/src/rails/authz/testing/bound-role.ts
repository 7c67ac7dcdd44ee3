import type { BoundRole } from '../standing-queries.ts'

/** A role that is bound to somebody: built in, active and without an end, where nothing else is said. */
export const boundRole = (name: string, said: Partial<BoundRole> = {}): BoundRole => ({
  ...{ binding_id: 'b', role_id: 'r', role_version_id: 'v', name, version: 1, is_builtin: true },
  ...{ state: 'active', grace_until: null, expires_at: null, permissions: [] },
  ...said,
})
