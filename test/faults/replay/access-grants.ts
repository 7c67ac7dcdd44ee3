import { lineById, type Recorded, type Room, type Step } from './room.ts'

export interface AccessGrants {
  /** Of each that nobody has ended: the allocation, the grantee, the key and its end. */
  readonly access_grants: Map<string, string>
}

const grantLine = ({ allocation_id, grantee_user_id, ssh_key_id, expires_at }: Recorded['metadata']): string =>
  `${allocation_id} ${grantee_user_id} ${ssh_key_id} ${expires_at ?? '-'}`
const letIn: Step<AccessGrants> = (state, { resource_id, metadata }) => {
  if (state.access_grants.has(resource_id) !== (metadata.updated === true)) return false
  state.access_grants.set(resource_id, grantLine(metadata))
  return true
}

export const accessGrants: Room<AccessGrants> = {
  read: async (sql) => ({
    access_grants: await lineById(
      sql,
      `select id, allocation_id || ' ' || grantee_user_id || ' ' || ssh_key_id || ' '
                || coalesce(to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '-') as line
           from allocation_access_grants where ended_at is null`,
    ),
  }),
  lines: (state) => [...state.access_grants].map(([id, line]) => `access grant ${id} ${line}`),
  steps: {
    'allocation.access_grant.create': letIn,
    'allocation.access_grant.revoke': (state, { resource_id, metadata }) =>
      state.access_grants.get(resource_id) === grantLine(metadata) && state.access_grants.delete(resource_id),
  },
}
