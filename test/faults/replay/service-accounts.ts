import type { Roles } from './roles.ts'
import { lineById, type Room, type Step } from './room.ts'

export interface ServiceAccounts {
  /** In which state each service account is. */
  readonly service_accounts: Map<string, string>
  /** Of each key the account, when it ends, and whether it was revoked. */
  readonly account_keys: Map<string, string>
}

const turnAccount =
  (from: string, to: string): Step<ServiceAccounts> =>
  (state, { resource_id }) => {
    if (state.service_accounts.get(resource_id) !== from) return false
    state.service_accounts.set(resource_id, to)
    return true
  }
const comeKey: Step<ServiceAccounts> = (state, { resource_id, metadata: { service_account_id, expires_at } }) => {
  if (!state.service_accounts.has(service_account_id) || state.account_keys.has(resource_id)) return false
  state.account_keys.set(resource_id, `${service_account_id} ${expires_at ?? '-'}`)
  return true
}
/** With its end, where it has one now; else it is revoked. */
const endKey = (state: ServiceAccounts, key_id: string, ends_at: string | null): boolean => {
  const line = state.account_keys.get(key_id)
  if (line === undefined || line.endsWith(' revoked')) return false
  state.account_keys.set(key_id, ends_at === null ? `${line} revoked` : `${line.split(' ')[0]} ${ends_at}`)
  return true
}

export const serviceAccounts: Room<ServiceAccounts, ServiceAccounts & Roles> = {
  read: async (sql) => ({
    service_accounts: await lineById(sql, `select id, state as line from service_accounts where state <> 'deleted'`),
    account_keys: await lineById(
      sql,
      `select k.id, s.id || ' ' || coalesce(to_char(k.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '-')
              || case when k.revoked_at is null then '' else ' revoked' end as line
         from service_account_keys k join service_accounts s on s.id = k.service_account_id and s.state <> 'deleted'`,
    ),
  }),
  lines: (state) => [
    ...[...state.service_accounts].map(([id, is]) => `service account ${id} ${is}`),
    ...[...state.account_keys].map(([id, line]) => `service account key ${id} ${line}`),
  ],
  steps: {
    'service_account.create': (state, { resource_id }) => {
      if (state.service_accounts.has(resource_id)) return false
      state.service_accounts.set(resource_id, 'active')
      return true
    },
    'service_account.disable': turnAccount('active', 'disabled'),
    'service_account.enable': turnAccount('disabled', 'active'),
    'service_account.delete': (state, { resource_id, project_id }) => {
      for (const [key_id, line] of state.account_keys) if (line.startsWith(`${resource_id} `)) state.account_keys.delete(key_id)
      for (const line of state.roles) if (line.startsWith(`${project_id} ${resource_id} `)) state.roles.delete(line)
      return state.service_accounts.delete(resource_id)
    },
    'service_account.key.create': comeKey,
    'service_account.key.rotate': (state, row) => {
      const { replaces, overlap_seconds, ends_at } = row.metadata
      return endKey(state, replaces, overlap_seconds === 0 ? null : ends_at) && comeKey(state, row)
    },
    'service_account.key.revoke': (state, { resource_id }) => endKey(state, resource_id, null),
  },
}
