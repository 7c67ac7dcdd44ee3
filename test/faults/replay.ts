import { byName } from './by-name.ts'
import { accessGrants } from './replay/access-grants.ts'
import { allocations } from './replay/allocations.ts'
import { cutOffs } from './replay/cut-offs.ts'
import { invitations } from './replay/invitations.ts'
import { keys, taskSigners } from './replay/key-lives.ts'
import { nodeTasks } from './replay/node-tasks.ts'
import { nodes } from './replay/nodes.ts'
import { policies } from './replay/policies.ts'
import { principals } from './replay/principals.ts'
import { roles } from './replay/roles.ts'
import type { Recorded, Room, Sql, Step } from './replay/room.ts'
import { runtimeCredentials } from './replay/runtime-credentials.ts'
import { serviceAccounts } from './replay/service-accounts.ts'
import { sharedRuntimes } from './replay/shared-runtimes.ts'
import { sshKeys } from './replay/ssh-keys.ts'
import { tenancy } from './replay/tenancy.ts'
import { tokens } from './replay/tokens.ts'

const rooms = [
  tenancy,
  roles,
  invitations,
  principals,
  policies,
  tokens,
  cutOffs,
  serviceAccounts,
  nodes,
  sshKeys,
  allocations,
  accessGrants,
  sharedRuntimes,
  runtimeCredentials,
  keys,
  taskSigners,
  nodeTasks,
] as const

type OwnOf<R> = R extends Room<infer Own, infer _Seen> ? Own : never
type AllOf<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer All) => void ? All : never
/** What the tables of all rooms say. */
export type State = AllOf<OwnOf<(typeof rooms)[number]>>

/** What each recorded action does to the world; false if it could not have happened there. */
export const steps: Readonly<Record<string, Step<State>>> = byName<Step<State>>(rooms.map((room) => room.steps))

export const readState = async (sql: Sql): Promise<State> => {
  const read = []
  for (const room of rooms) read.push(await room.read(sql))
  return Object.assign({}, ...read)
}

const linesOf = (state: State): Set<string> => new Set(rooms.flatMap((room) => room.lines(state)))

/** The rows that tell of a change, each chain in its order: a chain's lock is held until the commit, so its order is theirs. */
export const readRecord = (sql: Sql): Promise<Recorded[]> =>
  sql<Recorded>(`
    select chain_id, seq::int as seq, correlation_id, action, actor_id, resource_id, tenant_id, project_id, metadata
      from audit_logs where result = 'success' order by chain_id, seq`)

const namesDiffer = (kind: 'organizations' | 'projects', told: State, seen: State): string[] =>
  [...told[kind]].flatMap(([id, { name }]) => {
    const is = seen[kind].get(id)?.name
    return name === null || name === is ? [] : [`${kind}: ${id} is called ${is}, but by the record ${name}`]
  })

/** Does again, on paper, what the record tells, and says where the paper and the tables differ. */
export const replayFaults = (before: State, record: readonly Recorded[], after: State): string[] => {
  const told: State = structuredClone(before)
  const faults: string[] = []
  for (const row of record) {
    const step = steps[row.action]
    if (step && !step(told, row)) faults.push(`recorded, but impossible: ${row.action} of ${row.resource_id} (${row.chain_id} ${row.seq})`)
  }
  const [paper, tables] = [linesOf(told), linesOf(after)]
  return [
    ...faults,
    ...[...paper].filter((line) => !tables.has(line)).map((line) => `recorded, but not there: ${line}`),
    ...[...tables].filter((line) => !paper.has(line)).map((line) => `there, but not recorded: ${line}`),
    ...namesDiffer('organizations', told, after),
    ...namesDiffer('projects', told, after),
  ]
}
