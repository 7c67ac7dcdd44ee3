import { type CutOffs, cutOff } from './cut-offs.ts'
import { lineById, type Recorded, type Room, rowById, type Step } from './room.ts'

export interface SharedRuntimes {
  /** Of each its state, its version, and what its operator may do by itself. */
  readonly shared_runtimes: Map<string, { state: string; version: number; delegated: string }>
  /** Of each that counts the runtime, the project, and what that contributes. */
  readonly attachments: Map<string, string>
  /** Of each credential of an operator the runtime, and whether it was revoked. */
  readonly operator_keys: Map<string, string>
  /** How many each runtime has reported. */
  readonly runtime_members: Map<string, string>
}

const delegatedLine = ({ delegated_actions, delegated_contribution_policy, eligible_project_ids }: Recorded['metadata']): string =>
  `${delegated_actions.join()} ${delegated_contribution_policy} ${eligible_project_ids.join()}`
const moveRuntime: Step<SharedRuntimes> = (state, { resource_id, metadata: { from, to } }) => {
  const one = state.shared_runtimes.get(resource_id)
  if (!one || one.state !== from) return false
  one.state = to
  return true
}
const attachmentLine = ({ project_id, metadata }: Recorded, policy = metadata.contribution_policy): string =>
  `${metadata.shared_runtime_id} ${project_id} ${policy}`

export const sharedRuntimes: Room<SharedRuntimes, SharedRuntimes & CutOffs> = {
  read: async (sql) => ({
    shared_runtimes: await rowById(
      sql,
      `select id, state, version, concat_ws(' ', array_to_string(delegated_actions, ','), delegated_contribution_policy, array_to_string(eligible_project_ids, ',')) as delegated
         from shared_app_runtimes where state <> 'deleted'`,
    ),
    attachments: await lineById(
      sql,
      `select id, shared_runtime_id || ' ' || project_id || ' ' || contribution_policy as line from shared_runtime_attachments where detached_at is null`,
    ),
    operator_keys: await lineById(
      sql,
      `select c.id, r.id || case when c.revoked_at is null then '' else ' revoked' end as line
           from shared_runtime_operator_credentials c join shared_app_runtimes r on r.id = c.shared_runtime_id and r.state <> 'deleted'`,
    ),
    runtime_members: await lineById(sql, 'select shared_runtime_id as id, count(*)::text as line from shared_runtime_members group by 1'),
  }),
  lines: (state) => [
    ...[...state.shared_runtimes].map(([id, { state: is, version, delegated }]) => `shared runtime ${id} ${is} ${version} ${delegated}`),
    ...[...state.attachments].map(([id, line]) => `attachment ${id} ${line}`),
    ...[...state.operator_keys].map(([id, line]) => `credential of an operator ${id} ${line}`),
    ...[...state.runtime_members].map(([id, line]) => `members of the runtime ${id}: ${line}`),
  ],
  steps: {
    'shared_runtime.create': (state, { resource_id, metadata }) => {
      if (state.shared_runtimes.has(resource_id)) return false
      state.shared_runtimes.set(resource_id, { state: 'requested', version: 1, delegated: delegatedLine(metadata) })
      return true
    },
    'shared_runtime.update': (state, { resource_id, metadata }) => {
      const one = state.shared_runtimes.get(resource_id)
      if (one?.version !== metadata.version - 1) return false
      Object.assign(one, { version: metadata.version, delegated: delegatedLine(metadata) })
      return true
    },
    'shared_runtime.disable': moveRuntime,
    'shared_runtime.enable': moveRuntime,
    'shared_runtime.delete': (state, { resource_id, metadata: { attachments_ended } }) => {
      // The first 200 have rows of their own before this one.
      const left = [...state.attachments].filter(([, line]) => line.startsWith(`${resource_id} `))
      for (const [id] of left) state.attachments.delete(id)
      state.runtime_members.delete(resource_id)
      for (const [key_id, line] of state.operator_keys) if (line.split(' ')[0] === resource_id) state.operator_keys.delete(key_id)
      cutOff(state, `actor ${resource_id}`)
      return left.length === Math.max(0, attachments_ended - 200) && state.shared_runtimes.delete(resource_id)
    },
    'shared_runtime.attachment.create': (state, row) => {
      const { resource_id, project_id, metadata } = row
      const isThere = [...state.attachments.values()].some((line) => line.startsWith(`${metadata.shared_runtime_id} ${project_id} `))
      if (isThere || !state.shared_runtimes.has(metadata.shared_runtime_id)) return false
      state.attachments.set(resource_id, attachmentLine(row))
      return true
    },
    'shared_runtime.attachment.update': (state, row) => {
      if (state.attachments.get(row.resource_id) !== attachmentLine(row, row.metadata.from)) return false
      state.attachments.set(row.resource_id, attachmentLine(row))
      return true
    },
    'shared_runtime.attachment.delete': (state, { resource_id, metadata: { shared_runtime_id, eligible_project_ids, version } }) => {
      const one = state.shared_runtimes.get(shared_runtime_id)
      if (one && version !== undefined) {
        if (one.version !== version - 1) return false
        const [actions, policy] = one.delegated.split(' ')
        Object.assign(one, { version, delegated: `${actions} ${policy} ${eligible_project_ids.join()}` })
      }
      return state.attachments.delete(resource_id)
    },
    'shared_runtime.operator_credential.create': (state, { resource_id, metadata: { shared_runtime_id } }) => {
      if (!state.shared_runtimes.has(shared_runtime_id) || state.operator_keys.has(resource_id)) return false
      state.operator_keys.set(resource_id, shared_runtime_id)
      return true
    },
    'shared_runtime.operator_credential.revoke': (state, { resource_id, metadata: { shared_runtime_id } }) => {
      if (state.operator_keys.get(resource_id) !== shared_runtime_id) return false
      state.operator_keys.set(resource_id, `${shared_runtime_id} revoked`)
      return true
    },
    'shared_runtime.operator_credential.end': (state, { resource_id, metadata: { count } }) =>
      count > 0 && !state.shared_runtimes.has(resource_id),
    'shared_runtime.status.report': (state, { resource_id, metadata: { is_taken, state: to } }) => {
      const one = state.shared_runtimes.get(resource_id)
      if (!one || one.state === 'disabled') return false
      if (is_taken) one.state = to
      return true
    },
    'shared_runtime.members.report': (state, { resource_id, metadata: { is_taken, members } }) => {
      if (!state.shared_runtimes.has(resource_id)) return false
      if (is_taken) state.runtime_members.set(resource_id, `${members}`)
      if (is_taken && members === 0) state.runtime_members.delete(resource_id)
      return true
    },
  },
}
