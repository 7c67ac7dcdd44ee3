import { machineClass } from '#rails/authz/actor-class.ts'

/** A node asks all the time: one that is broken, or taken, must not fill the record. One that is retired is not identified. */
export const nodeAgents = {
  ...machineClass('node_agent', 'a node'),
  told: (id: string | null, name: string | null) => (name === null ? `The node ${id}` : `The node ${name} (${id})`),
  refusals: 'thinned',
  own_param: 'node_id',
  standing: 'identified',
} as const
