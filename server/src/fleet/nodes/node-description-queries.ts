import { NodeDescription, StuckStep } from '@gatehouse/contract/node-description'
import { Exactly, Id, Instant, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { columns, sql } from '#ground/db/statement.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

type Proof = Authorized<Action, { readonly id: string }>
const Written = Exactly({ id: Id('node') })

const { ssh_host, ssh_port, ...lists } = NodeDescription.properties
/** What is known of a node by its own word. */
export const Described = Exactly({
  ...lists,
  ssh_host: Nullable(ssh_host),
  ssh_port: Nullable(ssh_port),
  described_at: Nullable(Instant),
  protocol_version: Type.Integer(),
})
export type Described = Static<typeof Described>

export const describedNode = (node_id: string) => sql(Described)`select ${columns(Described)} from nodes where id = ${node_id}`

export const setDescription = ({ id }: Proof, said: NodeDescription, now: string) => sql(Written)`
  update nodes set devices = ${JSON.stringify(said.devices)}::jsonb, shared_devices = ${said.shared_devices}::text[],
         ssh_host = ${said.ssh_host}, ssh_port = ${said.ssh_port}, ssh_host_keys = ${said.ssh_host_keys}::text[], described_at = ${now}
   where id = ${id} returning id`

export const setProtocol = ({ id }: Proof, protocol_version: number) => sql(Written)`
  update nodes set protocol_version = ${protocol_version} where id = ${id} returning id`

export const isProtocolNew = (node_id: string, protocol_version: number) => sql(Written)`
  select id from nodes where id = ${node_id} and protocol_version <> ${protocol_version}`

/** Its agent understands that a key's holder must be verified. */
export const isVerifying = (node_id: string) => sql(Exactly({ is_verifying: Type.Boolean() }))`
  select protocol_version >= 2 as is_verifying from nodes where id = ${node_id}`

const Stuck = Exactly({ stuck_steps: Type.Array(StuckStep) })

export const stuckSteps = (node_id: string) => sql(Stuck)`select stuck_steps from nodes where id = ${node_id}`

export const setStuckSteps = ({ id }: Proof, steps: readonly StuckStep[]) => sql(Written)`
  update nodes set stuck_steps = ${JSON.stringify(steps)}::jsonb where id = ${id} returning id`

/** How many of these lie on the node, or did. */
export const countOnNode = (node_id: string, allocation_ids: readonly string[]) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from allocations where id = any(${allocation_ids}::uuid[]) and node_id = ${node_id}`
