import { lineById, type Room } from './room.ts'
import type { SharedRuntimes } from './shared-runtimes.ts'

export interface RuntimeCredentials {
  /** Of each that counts the runtime, its name and version, and whether it was delivered. */
  readonly runtime_credentials: Map<string, string>
  /** Of each that waits, or was opened, its subject. */
  readonly deliveries: Map<string, string>
}

const endDeliveries = (state: RuntimeCredentials, ended: readonly string[]): boolean =>
  ended.every((id) => state.deliveries.get(id)?.endsWith(' waiting') === true && state.deliveries.delete(id))

export const runtimeCredentials: Room<RuntimeCredentials, RuntimeCredentials & SharedRuntimes> = {
  read: async (sql) => ({
    runtime_credentials: await lineById(
      sql,
      `select id, shared_runtime_id || ' ' || name || ' ' || version || ' ' || state as line from shared_runtime_credentials where state <> 'revoked'`,
    ),
    // That one is over is not told: nobody did it.
    deliveries: await lineById(sql, `select id, subject_id || ' ' || state as line from wrapped_deliveries where state <> 'revoked'`),
  }),
  lines: (state) => [
    ...[...state.runtime_credentials].map(([id, line]) => `secret of a runtime ${id} ${line}`),
    ...[...state.deliveries].map(([id, line]) => `delivery ${id} ${line}`),
  ],
  steps: {
    'shared_runtime.credential.deposit': (state, { resource_id, metadata }) => {
      const { shared_runtime_id, name, version, updated, replaces, replaced_version, deliveries_ended } = metadata
      const isReplaced = state.runtime_credentials.get(replaces)?.startsWith(`${shared_runtime_id} ${name} ${replaced_version} `)
      if (updated && !(isReplaced && state.runtime_credentials.delete(replaces) && endDeliveries(state, deliveries_ended))) return false
      state.runtime_credentials.set(resource_id, `${shared_runtime_id} ${name} ${version} active`)
      return state.shared_runtimes.has(shared_runtime_id)
    },
    'shared_runtime.credential.revoke': (state, { resource_id, metadata: { deliveries_ended } }) =>
      endDeliveries(state, deliveries_ended) && state.runtime_credentials.delete(resource_id),
    'shared_runtime.credential.deliver': (state, { actor_id, resource_id, metadata: { delivery_id } }) => {
      if (!state.runtime_credentials.get(resource_id)?.startsWith(`${actor_id} `)) return false
      state.deliveries.set(delivery_id, `${resource_id} waiting`)
      return true
    },
    'shared_runtime.deliveries.end': (state, { metadata: { deliveries_ended } }) => endDeliveries(state, deliveries_ended),
    'delivery.unwrap': (state, { actor_id, resource_id, metadata: { subject_id, name, version } }) => {
      const of = `${actor_id} ${name} ${version} `
      if (state.deliveries.get(resource_id) !== `${subject_id} waiting` || !state.runtime_credentials.get(subject_id)?.startsWith(of))
        return false
      state.deliveries.set(resource_id, `${subject_id} opened`)
      state.runtime_credentials.set(subject_id, `${of}delivered`)
      return true
    },
  },
}
