import { room } from '#ground/kernel/room-door.ts'
import { platformOperators } from './platform-operator-class.ts'
import { rolesSentences } from './roles-sentences.ts'

export const rolesRoom = room({
  sees: ['principals', 'tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'db', 'kernel'],
  shows: [
    'bind-role.ts',
    'binding-queries.ts',
    'ceiling.ts',
    'end-bindings.ts',
    'found-owners.ts',
    'last-superadmin.ts',
    'mirror-builtin-roles.ts',
    'own-machines.ts',
    'platform-operator.ts',
    'role-binding-queries.ts',
    'role-queries.ts',
    'role-routes.ts',
    'role-scope.ts',
    'role-subscribers.ts',
  ],
  actors: [platformOperators],
  nouns: [
    { type: 'role', table: 'role_definitions', id_param: 'role_id' },
    { type: 'role_binding', table: 'project_role_bindings', id_param: 'binding_id' },
  ],
  sentences: rolesSentences,
})
