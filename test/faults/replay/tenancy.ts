import { type CutOffs, cutOff } from './cut-offs.ts'
import type { Roles } from './roles.ts'
import { linesIn, type Room, rowById, type Step } from './room.ts'

export interface Tenancy {
  readonly organizations: Map<string, { state: string; name: string | null }>
  readonly projects: Map<string, { state: string; name: string | null }>
  readonly members: Set<string>
}

/** Whoever joins or leaves gains or loses roles, and what ends has its machine tokens ended. */
type Seen = Tenancy & Roles & CutOffs

const endRoles = (state: Seen, scope: string, user_id: string) => {
  state.members.delete(`${scope} ${user_id}`)
  for (const line of state.roles) if (line.startsWith(`${scope} ${user_id} `)) state.roles.delete(line)
}

const found =
  (kind: 'organizations' | 'projects', role: string): Step<Seen> =>
  (state, { resource_id, metadata }) => {
    if (state[kind].has(resource_id)) return false
    // The name is not in the record; it is known from the first time that it changes.
    state[kind].set(resource_id, { state: 'active', name: null })
    state.members.add(`${resource_id} ${metadata.owner_user_id}`)
    state.roles.add(`${resource_id} ${metadata.owner_user_id} ${role}`)
    return true
  }
const rename =
  (kind: 'organizations' | 'projects'): Step<Seen> =>
  (state, { resource_id, metadata }) => {
    const one = state[kind].get(resource_id)
    if (!one || (one.name !== null && one.name !== metadata.name.from)) return false
    one.name = metadata.name.to
    return true
  }
const move =
  (kind: 'organizations' | 'projects', from: string, to: string): Step<Seen> =>
  (state, { resource_id }) => {
    const one = state[kind].get(resource_id)
    if (!one || one.state !== from) return false
    one.state = to
    // Its machine tokens end with it, whichever way it moves.
    return cutOff(state, `${kind === 'organizations' ? 'organization' : 'project'} ${resource_id}`)
  }

export const tenancy: Room<Tenancy, Seen> = {
  read: async (sql) => ({
    organizations: await rowById(sql, 'select id, state, name from organizations where deleted_at is null'),
    projects: await rowById(sql, 'select id, state, name from projects'),
    members: await linesIn(
      sql,
      `
        select tenant_id || ' ' || user_id as line from tenant_memberships where deleted_at is null
        union all select project_id || ' ' || user_id from project_memberships where deleted_at is null`,
    ),
  }),
  lines: (state) => [
    ...[...state.organizations].map(([id, { state: is }]) => `organization ${id} ${is}`),
    ...[...state.projects].map(([id, { state: is }]) => `project ${id} ${is}`),
    ...[...state.members].map((line) => `member ${line}`),
  ],
  steps: {
    'organization.create': found('organizations', 'tenant_owner'),
    'organization.update': rename('organizations'),
    'organization.suspend': move('organizations', 'active', 'suspended'),
    'organization.resume': move('organizations', 'suspended', 'active'),
    'organization.member.remove': (state, { tenant_id, metadata }) => {
      if (!state.members.has(`${tenant_id} ${metadata.user_id}`)) return false
      for (const scope of [tenant_id, ...metadata.ended_projects]) endRoles(state, scope, metadata.user_id)
      return true
    },
    'project.create': found('projects', 'project_owner'),
    'project.update': rename('projects'),
    'project.archive': move('projects', 'active', 'archived'),
    'project.restore': move('projects', 'archived', 'active'),
    'project.member.add': (state, { project_id, metadata: { user_id, role_name } }) => {
      if (state.members.has(`${project_id} ${user_id}`)) return false
      state.members.add(`${project_id} ${user_id}`)
      state.roles.add(`${project_id} ${user_id} ${role_name}`)
      return true
    },
    'project.member.remove': (state, { project_id, metadata }) => {
      if (!state.members.has(`${project_id} ${metadata.user_id}`)) return false
      endRoles(state, project_id!, metadata.user_id)
      return true
    },
    'project.owner.appoint': (state, { project_id, metadata: { user_id } }) => {
      if ([...state.roles].some((line) => line.startsWith(`${project_id} `) && line.endsWith(' project_owner'))) return false
      state.members.add(`${project_id} ${user_id}`)
      state.roles.add(`${project_id} ${user_id} project_owner`)
      return true
    },
  },
}
