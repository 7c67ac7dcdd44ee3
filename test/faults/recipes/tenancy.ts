import { seeded } from '../../live-server.ts'
import { inOrganization, inProject, memberships, newOrganization, newProject } from './places.ts'
import { type Asking, part, type Recipes } from './recipe.ts'

const { org, project, user } = seeded

const organizationIs = (state: string) => (asking: Asking) => [
  part('state', 'organizations where id = $1 and state = $2', asking.params.org_id, state),
]
const projectIs = (state: string) => (asking: Asking) => [
  part('state', 'projects where id = $1 and state = $2', asking.params.project_id, state),
]
const ended = (tier: 'tenant' | 'project', id: unknown, asking: Asking) => {
  const { membership, binding } = memberships(tier)
  const values = [id, asking.params.user_id, asking.body.reason]
  return [
    part(`${tier} membership`, `${membership} and delete_reason = $3`, ...values),
    part(`${tier} binding`, `${binding} and delete_reason = $3`, ...values),
  ]
}

export const tenancy: Recipes = {
  'organization.create': {
    prepare: async ({ word }) => {
      const slug = word()
      return { person: 'ada', params: {}, body: { name: slug, slug, owner_user_id: user('alice'), reason: slug } }
    },
    effect: ({ body }) => [
      part('organization', 'organizations where slug = $1', body.slug),
      part(
        'membership',
        'tenant_memberships m join organizations o on o.id = m.tenant_id where o.slug = $1 and m.deleted_at is null',
        body.slug,
      ),
      part(
        'binding',
        'tenant_role_bindings b join organizations o on o.id = b.tenant_id where o.slug = $1 and b.deleted_at is null',
        body.slug,
      ),
    ],
  },
  'organization.update': {
    prepare: async (stage) => {
      const name = stage.word()
      return { ...inOrganization((await newOrganization(stage)).id, 'alice'), body: { name, reason: name } }
    },
    effect: ({ params, body }) => [part('name', 'organizations where id = $1 and name = $2', params.org_id, body.name)],
  },
  'organization.suspend': {
    prepare: async (stage) => ({ ...inOrganization((await newOrganization(stage)).id), body: { reason: stage.word() } }),
    effect: organizationIs('suspended'),
  },
  'organization.resume': {
    prepare: async (stage) => {
      const there = inOrganization((await newOrganization(stage)).id)
      await stage.done('organization.suspend', { ...there, body: { reason: stage.word() } })
      return { ...there, body: { reason: stage.word() } }
    },
    effect: organizationIs('active'),
  },
  'organization.member.remove': {
    lock: 'seeded organization',
    prepare: async (stage) => ({
      person: 'alice',
      params: { org_id: org.aurora, user_id: stage.person().id },
      body: { reason: stage.word() },
    }),
    effect: (asking) => [...ended('tenant', org.aurora, asking), ...ended('project', project.aurora, asking)],
  },
  'project.create': {
    prepare: async (stage) => {
      const { id } = await newOrganization(stage)
      const slug = stage.word()
      return { ...inOrganization(id, 'alice'), body: { name: slug, slug, reason: slug } }
    },
    effect: ({ params, body }) => {
      const values = [params.org_id, body.slug]
      return [
        part('project', 'projects where org_id = $1 and slug = $2', ...values),
        part('membership', 'project_memberships m join projects p on p.id = m.project_id where p.org_id = $1 and p.slug = $2', ...values),
        part('binding', 'project_role_bindings b join projects p on p.id = b.project_id where p.org_id = $1 and p.slug = $2', ...values),
      ]
    },
  },
  'project.update': {
    prepare: async (stage) => {
      const name = stage.word()
      return { ...inProject((await newProject(stage)).id), body: { name, reason: name } }
    },
    effect: ({ params, body }) => [part('name', 'projects where id = $1 and name = $2', params.project_id, body.name)],
  },
  'project.archive': {
    prepare: async (stage) => ({ ...inProject((await newProject(stage)).id), body: { reason: stage.word() } }),
    effect: projectIs('archived'),
  },
  'project.restore': {
    prepare: async (stage) => {
      const there = inProject((await newProject(stage)).id)
      await stage.done('project.archive', { ...there, body: { reason: stage.word() } })
      return { ...there, body: { reason: stage.word() } }
    },
    effect: projectIs('active'),
  },
  'project.member.add': {
    lock: 'seeded organization',
    prepare: async (stage) => ({
      ...inProject((await newProject(stage, org.aurora)).id),
      body: { user_id: user('anna'), role_name: 'project_viewer', reason: stage.word() },
    }),
    effect: ({ params, body }) => {
      const { membership, binding } = memberships('project')
      const values = [params.project_id, body.user_id]
      return [part('membership', membership, ...values), part('binding', binding, ...values)]
    },
  },
  'project.member.remove': {
    lock: 'seeded organization',
    prepare: async (stage) => {
      const { person, params } = inProject((await newProject(stage, org.aurora)).id)
      const member = { user_id: user('anna'), role_name: 'project_viewer', reason: stage.word() }
      await stage.done('project.member.add', { person, params, body: member })
      return { person, params: { ...params, user_id: user('anna') }, body: { reason: stage.word() } }
    },
    effect: (asking) => ended('project', asking.params.project_id, asking),
  },
}
