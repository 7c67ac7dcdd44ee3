import { operations } from '../../contract/src/operations.ts'
import { seeded } from '../live-server.ts'
import type { Intent } from './journal.ts'

type Asking = Pick<Intent, 'person' | 'params' | 'body'>

/** What a recipe may use to set its scene. */
export interface Stage {
  /** A word that nothing else has. */
  readonly word: () => string
  /** Somebody who is a member of the seeded organization and project, and whom no other recipe uses. */
  readonly person: () => { id: string; subject: string }
  /** Has something done by a server that nobody kills; returns its answer. */
  readonly done: (operation: string, asking: Asking) => Promise<{ id: string }>
}

/** One part of an effect: how many of it there are now. */
interface Part {
  readonly what: string
  readonly text: string
  readonly values: readonly unknown[]
}

interface Recipe {
  /** What it holds that others wait for; without it, it has a place of its own. */
  readonly lock?: 'seeded organization' | 'platform chain'
  readonly prepare: (stage: Stage) => Promise<Asking>
  /** All parts are there once, or none is. */
  readonly effect: (asking: Asking) => readonly Part[]
  /** The actions that it records, once each. */
  readonly actions?: readonly string[]
}

const { org, project, user } = seeded
const part = (what: string, text: string, ...values: unknown[]): Part => ({ what, text: `select count(*)::int as n from ${text}`, values })

const newOrganization = async (stage: Stage) => {
  const slug = stage.word()
  return stage.done('organization.create', {
    person: 'ada',
    params: {},
    body: { name: slug, slug, owner_user_id: user('alice'), reason: slug },
  })
}
const newProject = async (stage: Stage, org_id?: string) => {
  const slug = stage.word()
  return stage.done('project.create', {
    person: 'alice',
    params: { org_id: org_id ?? (await newOrganization(stage)).id },
    body: { name: slug, slug, reason: slug },
  })
}
const inOrganization = (id: string, person = 'ada') => ({ person, params: { org_id: id } })
const inProject = (id: string) => ({ person: 'alice', params: { project_id: id } })

const organizationIs = (state: string) => (asking: Asking) => [
  part('state', 'organizations where id = $1 and state = $2', asking.params.org_id, state),
]
const projectIs = (state: string) => (asking: Asking) => [
  part('state', 'projects where id = $1 and state = $2', asking.params.project_id, state),
]
const memberships = (tier: 'tenant' | 'project') => ({
  membership: `${tier}_memberships where ${tier}_id = $1 and user_id = $2`,
  binding: `${tier}_role_bindings where ${tier}_id = $1 and principal_id = $2`,
})
const ended = (tier: 'tenant' | 'project', id: unknown, asking: Asking) => {
  const { membership, binding } = memberships(tier)
  const values = [id, asking.params.user_id, asking.body.reason]
  return [
    part(`${tier} membership`, `${membership} and delete_reason = $3`, ...values),
    part(`${tier} binding`, `${binding} and delete_reason = $3`, ...values),
  ]
}

const offering = (stage: Stage, role_name: string) => ({ email: `${stage.word()}@mail.example`, role_name, reason: stage.word() })
/** An invitation that waits, by the owner of all that the stage has made. */
const offered = async (stage: Stage, operation: string, asking: Asking): Promise<string> =>
  ((await stage.done(operation, asking)) as unknown as { invitation: { id: string } }).invitation.id
const isOffered = ({ body }: Asking) => [part('invitation', 'invitations where email = $1 and ended_at is null', body.email)]
const isEnded = ({ params, body }: Asking) => [
  part('ended', 'invitations where id = $1 and end_reason = $2', params.invitation_id, body.reason),
]

/** How each operation that changes something is asked for, and how one sees that it happened. */
export const recipes: Readonly<Record<string, Recipe>> = {
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
  'invitation.create_of_organization': {
    prepare: async (stage) => ({ ...inOrganization((await newOrganization(stage)).id, 'alice'), body: offering(stage, 'tenant_viewer') }),
    effect: isOffered,
    actions: ['invitation.create'],
  },
  'invitation.create_of_project': {
    prepare: async (stage) => ({ ...inProject((await newProject(stage)).id), body: offering(stage, 'project_viewer') }),
    effect: isOffered,
    actions: ['invitation.create'],
  },
  'invitation.end_of_organization': {
    prepare: async (stage) => {
      const there = inOrganization((await newOrganization(stage)).id, 'alice')
      const asking = { ...there, body: offering(stage, 'tenant_viewer') }
      const invitation_id = await offered(stage, 'invitation.create_of_organization', asking)
      return { ...there, params: { ...there.params, invitation_id }, body: { reason: stage.word() } }
    },
    effect: isEnded,
    actions: ['invitation.end'],
  },
  'invitation.end_of_project': {
    prepare: async (stage) => {
      const there = inProject((await newProject(stage)).id)
      const asking = { ...there, body: offering(stage, 'project_viewer') }
      const invitation_id = await offered(stage, 'invitation.create_of_project', asking)
      return { ...there, params: { ...there.params, invitation_id }, body: { reason: stage.word() } }
    },
    effect: isEnded,
    actions: ['invitation.end'],
  },
  'invitation.accept': {
    prepare: async (stage) => {
      const { subject } = stage.person()
      const there = inProject((await newProject(stage)).id)
      const body = { email: `${subject}@stock.example`, role_name: 'project_viewer', reason: stage.word() }
      const invitation_id = await offered(stage, 'invitation.create_of_project', { ...there, body })
      return { person: subject, params: {}, body: { invitation_id } }
    },
    effect: ({ body: { invitation_id } }) => {
      const who = 'join invitations i on i.id = $1'
      return [
        part('accepted', 'invitations where id = $1 and accepted_at is not null', invitation_id),
        part(
          'in the organization',
          `tenant_memberships m ${who} and i.accepted_by = m.user_id and i.tenant_id = m.tenant_id`,
          invitation_id,
        ),
        part('in the project', `project_memberships m ${who} and i.accepted_by = m.user_id and i.project_id = m.project_id`, invitation_id),
        part('binding', `project_role_bindings b ${who} and i.accepted_by = b.principal_id and i.project_id = b.project_id`, invitation_id),
      ]
    },
  },
  'user.disable': {
    lock: 'platform chain',
    prepare: async (stage) => ({ person: 'ada', params: { user_id: stage.person().id }, body: { reason: stage.word() } }),
    effect: ({ params, body }) => [
      part('disabled', 'users where id = $1 and disabled_at is not null and disable_reason = $2', params.user_id, body.reason),
    ],
  },
  'user.enable': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const there = { person: 'ada', params: { user_id: stage.person().id } }
      await stage.done('user.disable', { ...there, body: { reason: stage.word() } })
      return { ...there, body: { reason: stage.word() } }
    },
    effect: ({ params }) => [part('enabled', 'users where id = $1 and disabled_at is null', params.user_id)],
  },
  // Not a change by its contract, but one in fact when a stranger asks it: who is new gets a record and a place.
  'me.read': {
    lock: 'platform chain',
    prepare: async ({ word }) => ({ person: `new-${word()}`, params: {}, body: {} }),
    effect: ({ person }) => {
      const own = 'join users u on u.id = m.user_id where u.oidc_subject = $1 and m.deleted_at is null'
      const bound = 'join users u on u.id = b.principal_id where u.oidc_subject = $1 and b.deleted_at is null'
      return [
        part('user', 'users where oidc_subject = $1', person),
        part('organization', `tenant_memberships m ${own}`, person),
        part('project', `project_memberships m ${own}`, person),
        part('tenant binding', `tenant_role_bindings b ${bound}`, person),
        part('project binding', `project_role_bindings b ${bound}`, person),
      ]
    },
    actions: ['user.create', 'organization.create', 'project.create'],
  },
}

/** What a campaign must cover: a new operation that changes something and has no recipe is reported by name. */
export const withoutRecipe = (): string[] =>
  operations.filter(({ id, effect }) => effect === 'change' && !Object.hasOwn(recipes, id)).map(({ id }) => id)

export const operationOf = (id: string) => {
  const operation = operations.find((each) => each.id === id)
  if (!operation) throw new Error(`there is no operation ${id}`)
  return operation
}

export const isKeyed = (id: string): boolean => operationOf(id).effect === 'change'
export const actionsOf = (id: string): readonly string[] => recipes[id]!.actions ?? [id]
