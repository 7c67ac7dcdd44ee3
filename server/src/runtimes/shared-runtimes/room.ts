import { room } from '#ground/kernel/room-door.ts'
import { runtimeOperators } from './operator-class.ts'
import { sharedRuntimesSentences } from './shared-runtimes-sentences.ts'

export const sharedRuntimesRoom = room({
  sees: ['allocations', 'tenancy', 'http', 'authz', 'audit', 'work', 'db', 'kernel'],
  shows: ['require-taggable.ts', 'runtime-scope.ts', 'shared-runtime-queries.ts', 'shared-runtime-routes.ts', 'shared-runtime.ts'],
  actors: [runtimeOperators],
  nouns: [
    { type: 'shared_runtime', table: 'shared_app_runtimes', id_param: 'shared_runtime_id', place: 'shared_runtime_id' },
    { type: 'shared_runtime_attachment', table: 'shared_runtime_attachments', id_param: 'attachment_id' },
  ],
  sentences: sharedRuntimesSentences,
})
