import { seeded } from '../../live-server.ts'
import { part, type Recipes, type Stage } from './recipe.ts'
import { aLine } from './ssh-keys.ts'

const { project } = seeded

/** Somebody of the seeded project with a key of his own, and an allocation there that waits for a node. */
const toBeLetIn = async (stage: Stage) => {
  const { id, subject } = stage.person()
  const key = await stage.done('ssh_key.create', { person: subject, params: {}, body: aLine(stage) })
  const wish = { project_id: project.aurora, name: stage.word(), region: stage.word(), sku: 'none', gpus: 1, reason: stage.word() }
  const allocation = await stage.done('allocation.create', { person: 'amara', params: {}, body: wish })
  const body = { grantee_user_id: id, ssh_key_id: key.id, reason: stage.word() }
  return { person: 'amara', params: { allocation_id: allocation.id }, body }
}

export const accessGrants: Recipes = {
  'allocation.access_grant.create': {
    lock: 'seeded organization',
    prepare: toBeLetIn,
    effect: ({ params, body }) => [
      part(
        'grant',
        'allocation_access_grants where allocation_id = $1 and grantee_user_id = $2 and reason = $3 and ended_at is null',
        params.allocation_id,
        body.grantee_user_id,
        body.reason,
      ),
    ],
  },
  'allocation.access_grant.revoke': {
    lock: 'seeded organization',
    prepare: async (stage) => {
      const asking = await toBeLetIn(stage)
      const { id } = await stage.done('allocation.access_grant.create', asking)
      return { ...asking, params: { ...asking.params, grant_id: id }, body: { reason: stage.word() } }
    },
    effect: ({ params }) => [part('end', `allocation_access_grants where id = $1 and end_cause = 'revoked'`, params.grant_id)],
  },
}
