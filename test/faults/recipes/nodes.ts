import { nodeKeys } from '../../enrolled-node.ts'
import { type Asking, nodeBy, part, type Recipes, type Stage } from './recipe.ts'

const newNode = async (stage: Stage): Promise<string> => {
  const body = { name: stage.word(), region: 'nowhere', sku: 'fault', gpus: 1, reason: stage.word() }
  return ((await stage.done('node.create', { person: 'ada', params: {}, body })) as unknown as { node: { id: string } }).node.id
}
const onNode = async (stage: Stage) => ({ person: 'ada', params: { node_id: await newNode(stage) }, body: { reason: stage.word() } })
const nodeIs = (status: string) => (asking: Asking) => [
  part('status', 'nodes where id = $1 and status = $2', asking.params.node_id, status),
]

export const nodes: Recipes = {
  'node.enrol': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const body = { name: stage.word(), region: 'nowhere', sku: 'fault', gpus: 1, reason: stage.word() }
      const made = await stage.done('node.create', { person: 'ada', params: {}, body })
      const { node, enrolment_token } = made as unknown as { node: { id: string }; enrolment_token: string }
      const { csr } = await nodeKeys()
      return { person: `${nodeBy}${node.id}`, params: {}, body: { enrolment_token, csr } }
    },
    effect: ({ person }) => {
      const id = person.slice(nodeBy.length)
      return [
        part('node', 'nodes where id = $1 and enrolled_at is not null', id),
        part('certificate', 'node_certificates where node_id = $1', id),
        part('enrolment', 'node_enrolments where node_id = $1 and is_used', id),
      ]
    },
  },
  'node.certificate.renew': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const { person, node_id } = await stage.enrolled()
      return { person, params: { node_id }, body: { csr: (await nodeKeys()).csr } }
    },
    effect: ({ params }) => [part('another certificate', 'node_certificates where node_id = $1 and enrolment_id is null', params.node_id)],
  },
  'node.describe': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const { person, node_id } = await stage.enrolled()
      const body = {
        devices: [{ index: 0, paths: ['/dev/nvidia0'] }],
        shared_devices: [],
        ssh_host: `${stage.word()}.example`,
        ssh_port: 22,
        ssh_host_keys: [],
      }
      return { person, params: { node_id }, body }
    },
    effect: ({ params, body }) => [part('description', 'nodes where id = $1 and ssh_host = $2', params.node_id, body.ssh_host)],
  },
  'node.step.report': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const { person, node_id } = await stage.enrolled()
      const body = { steps: [{ step: 'end_sessions', allocation_id: null, since: new Date().toISOString() }] }
      return { person, params: { node_id }, body }
    },
    effect: ({ params }) => [part('stuck step', 'nodes where id = $1 and jsonb_array_length(stuck_steps) = 1', params.node_id)],
    actions: ['node.step.stuck'],
  },
  'node.create': {
    lock: 'platform chain',
    prepare: async (stage) => ({
      person: 'ada',
      params: {},
      body: { name: stage.word(), region: 'nowhere', sku: 'fault', gpus: 1, reason: stage.word() },
    }),
    effect: ({ body }) => [
      part('node', 'nodes where name = $1', body.name),
      part('enrolment', 'node_enrolments e join nodes n on n.id = e.node_id where n.name = $1 and e.ended_at is null', body.name),
    ],
  },
  'node.enrolment.create': {
    lock: 'platform chain',
    prepare: onNode,
    // The one that came with the node is void when there is another.
    effect: ({ params }) => [part('void', 'node_enrolments where node_id = $1 and ended_at is not null', params.node_id)],
  },
  'node.drain': { lock: 'platform chain', prepare: onNode, effect: nodeIs('drained') },
  'node.undrain': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const there = await onNode(stage)
      await stage.done('node.drain', { ...there, body: { reason: stage.word() } })
      return there
    },
    effect: nodeIs('active'),
  },
  'node.retire': {
    lock: 'platform chain',
    prepare: onNode,
    effect: (asking) => [
      ...nodeIs('retired')(asking),
      part('enrolment', 'node_enrolments where node_id = $1 and ended_at is not null', asking.params.node_id),
    ],
  },
}
