import { lineById, type Room, type Step } from './room.ts'

export interface SshKeys {
  /** Of each that is registered whose it is, and its fingerprint. */
  readonly ssh_keys: Map<string, string>
}

const register: Step<SshKeys> = (state, { resource_id, actor_id, project_id, metadata }) => {
  if (state.ssh_keys.has(resource_id)) return false
  state.ssh_keys.set(resource_id, `${project_id ?? actor_id} ${metadata.fingerprint}`)
  return true
}
const unregister: Step<SshKeys> = (state, { resource_id, actor_id, project_id, metadata }) =>
  state.ssh_keys.get(resource_id) === `${project_id ?? actor_id} ${metadata.fingerprint}` && state.ssh_keys.delete(resource_id)

export const sshKeys: Room<SshKeys> = {
  read: async (sql) => ({
    ssh_keys: await lineById(
      sql,
      `select id, coalesce(user_id, project_id) || ' ' || fingerprint as line from ssh_public_keys where deleted_at is null`,
    ),
  }),
  lines: (state) => [...state.ssh_keys].map(([id, line]) => `ssh key ${id} ${line}`),
  steps: {
    'ssh_key.create': register,
    'ssh_key.delete': unregister,
    'project.ssh_key.create': register,
    'project.ssh_key.delete': unregister,
  },
}
