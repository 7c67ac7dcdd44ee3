import { room } from '#ground/kernel/room-door.ts'
import { authorityEnvelopes } from './authority.ts'
import { nodeAgents } from './node-agent-class.ts'
import { nodesSentences } from './nodes-sentences.ts'

export const nodesRoom = room({
  sees: ['task-signers', 'http', 'authz', 'audit', 'work', 'custody', 'db', 'kernel'],
  shows: [
    'authority.ts',
    'certificate-queries.ts',
    'door.ts',
    'give-certificate.ts',
    'issue-certificate.ts',
    'make-enrolment.ts',
    'node-description-queries.ts',
    'node-queries.ts',
    'node-routes.ts',
    'node-subscribers.ts',
    'node.ts',
    'note-protocol.ts',
  ],
  sealed: [authorityEnvelopes],
  actors: [nodeAgents],
  nouns: [{ type: 'node', table: 'nodes', id_param: 'node_id' }],
  sentences: nodesSentences,
})
