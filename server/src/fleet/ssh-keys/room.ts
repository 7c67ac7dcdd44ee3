import { room } from '#ground/kernel/room-door.ts'
import { sshKeysSentences } from './ssh-keys-sentences.ts'

export const sshKeysRoom = room({
  sees: ['tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'db', 'kernel'],
  shows: ['ssh-key-queries.ts', 'ssh-key-routes.ts', 'ssh-key.ts'],
  nouns: [{ type: 'ssh_key', table: 'ssh_public_keys', id_param: 'ssh_key_id' }],
  sentences: sshKeysSentences,
})
