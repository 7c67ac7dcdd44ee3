import { lineById, type Room } from './room.ts'
import type { ServiceAccounts } from './service-accounts.ts'
import type { SharedRuntimes } from './shared-runtimes.ts'

export interface Tokens {
  /** Of each token whose it is, and by which key. */
  readonly tokens: Map<string, string>
}

const mayBeIssuedTo = (state: ServiceAccounts & SharedRuntimes, actor_type: string, actor_id: string, key_id: string): boolean => {
  if (actor_type === 'shared_runtime_operator')
    return state.operator_keys.get(key_id) === actor_id && state.shared_runtimes.get(actor_id)?.state !== 'disabled'
  const line = state.account_keys.get(key_id)
  return state.service_accounts.get(actor_id) === 'active' && line?.startsWith(`${actor_id} `) === true && !line.endsWith(' revoked')
}

export const tokens: Room<Tokens, Tokens & ServiceAccounts & SharedRuntimes> = {
  read: async (sql) => ({
    tokens: await lineById(
      sql,
      `select id, actor_type || ' ' || actor_id || ' ' || credential_id || ' ' || array_to_string(scope, ' ') as line from issued_tokens`,
    ),
  }),
  lines: (state) => [...state.tokens].map(([id, line]) => `token ${id}: ${line}`),
  steps: {
    'auth.token.issue': (state, { actor_id, resource_id, metadata: { actor_type, key_id, scope } }) => {
      if (state.tokens.has(resource_id) || !mayBeIssuedTo(state, actor_type, actor_id, key_id)) return false
      state.tokens.set(resource_id, `${actor_type} ${actor_id} ${key_id} ${scope}`)
      return true
    },
  },
}
