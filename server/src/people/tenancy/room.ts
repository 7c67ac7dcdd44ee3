import { room } from '#ground/kernel/room-door.ts'
import { tenancySentences } from './tenancy-sentences.ts'

export const tenancyRoom = room({
  sees: ['http', 'authz', 'audit', 'work', 'db', 'kernel'],
  shows: [
    'found-organization.ts',
    'found-project.ts',
    'membership-queries.ts',
    'organization-queries.ts',
    'organization.ts',
    'project-queries.ts',
    'project.ts',
    'subscribers.ts',
    'tenancy-routes.ts',
  ],
  nouns: [
    { type: 'project', table: 'projects', id_param: 'project_id', place: 'project_id' },
    { type: 'organization', table: 'organizations', id_param: 'org_id', place: 'tenant_id' },
  ],
  sentences: tenancySentences,
})
