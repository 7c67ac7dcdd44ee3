import type { Roles } from './roles.ts'
import { linesIn, type Room } from './room.ts'
import type { Tenancy } from './tenancy.ts'

export interface Invitations {
  /** Those that nobody has accepted or ended. */
  readonly invitations: Set<string>
}

export const invitations: Room<Invitations, Invitations & Tenancy & Roles> = {
  read: async (sql) => ({
    invitations: await linesIn(sql, 'select id::text as line from invitations where accepted_at is null and ended_at is null'),
  }),
  lines: (state) => [...state.invitations].map((id) => `invitation ${id}`),
  steps: {
    'invitation.create': (state, { resource_id, metadata }) => {
      if (metadata.expired !== null && !state.invitations.delete(metadata.expired)) return false
      if (state.invitations.has(resource_id)) return false
      state.invitations.add(resource_id)
      return true
    },
    'invitation.end': (state, { resource_id }) => state.invitations.delete(resource_id),
    'invitation.end_with_role': (state, { metadata }) => metadata.invitation_ids.every((id: string) => state.invitations.delete(id)),
    'invitation.end_with_membership': (state, { metadata }) => metadata.invitation_ids.every((id: string) => state.invitations.delete(id)),
    'invitation.accept': (state, { resource_id, tenant_id, project_id, metadata: { user_id, role_name, joined } }) => {
      if (!state.invitations.delete(resource_id)) return false
      const scopes = { tenant: tenant_id, project: project_id }
      for (const tier of joined as ('tenant' | 'project')[]) state.members.add(`${scopes[tier]} ${user_id}`)
      state.roles.add(`${project_id ?? tenant_id} ${user_id} ${role_name}`)
      return true
    },
  },
}
