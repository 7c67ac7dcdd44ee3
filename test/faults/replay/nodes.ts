import { lineById, type Recorded, type Room } from './room.ts'

export interface Nodes {
  /** In which state each node is. */
  readonly nodes: Map<string, string>
  /** Of each enrolment that is open, and of each certificate that has not ended, the node. */
  readonly node_enrolments: Map<string, string>
  readonly node_certificates: Map<string, string>
  /** Where each that has said it is reached by SSH. */
  readonly node_hosts: Map<string, string>
  /** How many steps each is stuck with. */
  readonly node_steps: Map<string, number>
}

const stickNode = (state: Nodes, { resource_id }: Recorded, by: number): boolean => {
  const steps = (state.node_steps.get(resource_id) ?? 0) + by
  if (steps === 0) state.node_steps.delete(resource_id)
  else state.node_steps.set(resource_id, steps)
  return steps >= 0
}

const offerNode = (state: Nodes, { resource_id, metadata: { enrolment_id } }: Recorded): boolean => {
  // There is one: the one before it is void.
  for (const [id, node_id] of state.node_enrolments) if (node_id === resource_id) state.node_enrolments.delete(id)
  state.node_enrolments.set(enrolment_id, resource_id)
  return true
}
const turnNode = (state: Nodes, { resource_id }: Recorded, from: readonly string[], to: string): boolean => {
  if (!from.includes(state.nodes.get(resource_id) ?? '')) return false
  state.nodes.set(resource_id, to)
  return true
}
const vouch = (state: Nodes, { resource_id, metadata: { serial, ended } }: Recorded): boolean => {
  for (const each of ended) if (!state.node_certificates.delete(each)) return false
  state.node_certificates.set(serial, resource_id)
  return true
}

export const nodes: Room<Nodes> = {
  read: async (sql) => ({
    nodes: await lineById(sql, 'select id, status as line from nodes'),
    node_enrolments: await lineById(sql, 'select id, node_id as line from node_enrolments where ended_at is null'),
    node_certificates: await lineById(sql, 'select serial as id, node_id as line from node_certificates where ended_at is null'),
    node_hosts: await lineById(sql, 'select id, ssh_host as line from nodes where ssh_host is not null'),
    node_steps: new Map(
      [...(await lineById(sql, `select id, jsonb_array_length(stuck_steps)::text as line from nodes where stuck_steps <> '[]'`))].map(
        ([id, line]) => [id, Number(line)],
      ),
    ),
  }),
  lines: (state) => [
    ...[...state.nodes].map(([id, line]) => `node ${id} ${line}`),
    ...[...state.node_enrolments].map(([id, line]) => `enrolment ${id} ${line}`),
    ...[...state.node_certificates].map(([id, line]) => `node certificate ${id} ${line}`),
    ...[...state.node_hosts].map(([id, line]) => `node host ${id} ${line}`),
    ...[...state.node_steps].map(([id, line]) => `node steps ${id} ${line}`),
  ],
  steps: {
    'node.authority.create': () => true,
    'node.create': (state, row) => {
      if (state.nodes.has(row.resource_id)) return false
      state.nodes.set(row.resource_id, 'active')
      return offerNode(state, row)
    },
    'node.enrolment.create': (state, row) => state.nodes.get(row.resource_id) !== 'retired' && offerNode(state, row),
    'node.describe': (state, { resource_id, metadata }) => {
      state.node_hosts.set(resource_id, metadata.to.ssh_host)
      return true
    },
    'node.protocol_version': () => true,
    'node.step.stuck': (state, row) => stickNode(state, row, 1),
    'node.step.unstuck': (state, row) => stickNode(state, row, -1),
    'node.drain': (state, row) => turnNode(state, row, ['active'], 'drained'),
    'node.undrain': (state, row) => turnNode(state, row, ['drained'], 'active'),
    'node.retire': (state, row) => {
      for (const [id, node_id] of state.node_enrolments) if (node_id === row.resource_id) state.node_enrolments.delete(id)
      for (const serial of row.metadata.certificates_ended) if (!state.node_certificates.delete(serial)) return false
      return turnNode(state, row, ['active', 'drained'], 'retired')
    },
    'node.enrol': (state, row) =>
      state.nodes.get(row.resource_id) !== 'retired' && state.node_enrolments.delete(row.metadata.enrolment_id) && vouch(state, row),
    // Told the same again.
    'node.enrol.repeat': (state, { metadata }) => state.node_certificates.has(metadata.serial),
    'node.certificate.renew': (state, row) => state.nodes.get(row.resource_id) !== 'retired' && vouch(state, row),
  },
}
