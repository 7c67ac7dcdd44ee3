import { lineById, type Recorded, type Room } from './room.ts'

export interface Nodes {
  /** In which state each node is. */
  readonly nodes: Map<string, string>
  /** Of each enrolment that is open, and of each certificate that has not ended, the node. */
  readonly node_enrolments: Map<string, string>
  readonly node_certificates: Map<string, string>
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
  }),
  lines: (state) => [
    ...[...state.nodes].map(([id, line]) => `node ${id} ${line}`),
    ...[...state.node_enrolments].map(([id, line]) => `enrolment ${id} ${line}`),
    ...[...state.node_certificates].map(([id, line]) => `node certificate ${id} ${line}`),
  ],
  steps: {
    'node.authority.create': () => true,
    'node.create': (state, row) => {
      if (state.nodes.has(row.resource_id)) return false
      state.nodes.set(row.resource_id, 'active')
      return offerNode(state, row)
    },
    'node.enrolment.create': (state, row) => state.nodes.get(row.resource_id) !== 'retired' && offerNode(state, row),
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
