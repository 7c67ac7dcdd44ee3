import { seeded } from '../../live-server.ts'
import type { Stage } from './recipe.ts'

const { user } = seeded

/** Of one's own, so that nobody waits for another. */
export const newOrganization = async (stage: Stage) => {
  const slug = stage.word()
  return stage.done('organization.create', {
    person: 'ada',
    params: {},
    body: { name: slug, slug, owner_user_id: user('alice'), reason: slug },
  })
}
export const newProject = async (stage: Stage, org_id?: string) => {
  const slug = stage.word()
  return stage.done('project.create', {
    person: 'alice',
    params: { org_id: org_id ?? (await newOrganization(stage)).id },
    body: { name: slug, slug, reason: slug },
  })
}

export const inOrganization = (id: string, person = 'ada') => ({ person, params: { org_id: id } })
export const inProject = (id: string) => ({ person: 'alice', params: { project_id: id } })

export const memberships = (tier: 'tenant' | 'project') => ({
  membership: `${tier}_memberships where ${tier}_id = $1 and user_id = $2`,
  binding: `${tier}_role_bindings where ${tier}_id = $1 and principal_id = $2`,
})
