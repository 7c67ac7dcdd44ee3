import { lineById, type Room, type Step } from './room.ts'

/** By key, in which state it is. */
type Keys<Table extends string> = Readonly<Record<Table, Map<string, string>>>

/** The life of a key, of those that tokens are signed with or of those that tasks are. */
const livesOf = <Table extends string>(table: Table, noun: string, name: string): Room<Keys<Table>> => {
  const come =
    (as: string): Step<Keys<Table>> =>
    (state, { resource_id }) => {
      if (state[table].has(resource_id)) return false
      state[table].set(resource_id, as)
      return true
    }
  const turnKey =
    (from: readonly string[], to: string): Step<Keys<Table>> =>
    (state, { resource_id }) => {
      if (!from.includes(state[table].get(resource_id) ?? '')) return false
      state[table].set(resource_id, to)
      return true
    }
  return {
    read: async (sql) => ({ [table]: await lineById(sql, `select kid as id, state as line from ${table}`) }) as Keys<Table>,
    lines: (state) => [...state[table]].map(([kid, is]) => `${name} ${kid} ${is}`),
    steps: {
      [`${noun}.stage`]: come('staged'),
      // Made to sign at once, or staged before.
      [`${noun}.activate`]: (state, row) =>
        state[table].has(row.resource_id) ? turnKey(['staged'], 'active')(state, row) : come('active')(state, row),
      [`${noun}.rotate`]: (state, row) => {
        const { from_kid } = row.metadata
        if (from_kid !== null && !turnKey(['active'], 'grace')(state, { ...row, resource_id: from_kid })) return false
        return turnKey(['staged'], 'active')(state, row)
      },
      [`${noun}.retire`]: turnKey(['staged', 'grace'], 'retired'),
      [`${noun}.revoke`]: (state, row) => {
        const { next_kid } = row.metadata
        if (!turnKey(['staged', 'active', 'grace'], 'revoked')(state, row)) return false
        return next_kid === null || turnKey(['staged'], 'active')(state, { ...row, resource_id: next_kid })
      },
    },
  }
}

export const keys = livesOf('signing_keys', 'signing_key', 'signing key')
export const taskSigners = livesOf('task_signers', 'node.signer', 'task signer')
