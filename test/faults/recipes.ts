import { setTimeout as sleep } from 'node:timers/promises'
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

/** The three scopes of policy: where each begins, which value is set there, and which can be ended there. */
interface PolicyScene {
  readonly lock?: 'platform chain'
  readonly key: string
  readonly endable: string
  readonly begin: (stage: Stage) => Promise<Pick<Asking, 'person' | 'params'>>
  /** The condition on a row `r`, and its value, that tell the scope. */
  readonly within: string
  readonly owner: (asking: Asking) => readonly unknown[]
}
const invitations = 'tenancy.invitation_ttl_seconds'
const policyScenes: Readonly<Record<string, PolicyScene>> = {
  of_platform: {
    lock: 'platform chain',
    key: 'authorization.opa.parity_min_samples',
    endable: 'authorization.role_disable_grace_window_seconds',
    begin: async () => ({ person: 'ada', params: {} }),
    within: `r.scope_type = 'global'`,
    owner: () => [],
  },
  of_organization: {
    key: invitations,
    endable: invitations,
    begin: async (stage) => inOrganization((await newOrganization(stage)).id, 'alice'),
    within: `r.tenant_id = $3`,
    owner: ({ params }) => [params.org_id],
  },
  of_project: {
    key: invitations,
    endable: invitations,
    begin: async (stage) => inProject((await newProject(stage)).id),
    within: `r.project_id = $3`,
    owner: ({ params }) => [params.project_id],
  },
}

/** The platform has one value that can be ended: whoever finds it set waits for the other case to end it, but not for ever. */
const inTurn = async (set: (body: object) => Promise<unknown>): Promise<void> => {
  for (let tries = 0; tries < 100; tries += 1) {
    const isSet = await set({ expected_version: 0 }).then(
      () => true,
      () => false,
    )
    if (isSet) return
    await sleep(100)
  }
  await set({})
}

const onPolicyOf = (scope: string, { lock, key, endable, begin, within, owner }: PolicyScene): [string, Recipe][] => {
  const held = lock ? { lock } : {}
  const value = (stage: Stage) => ({ value: 7200, reason: stage.word() })
  const rule = (stage: Stage) => {
    const word = stage.word()
    return { key: word, actions: ['allocation.create'], condition: { in: { region: [word] } }, reason: word }
  }
  const written = async (stage: Stage) => {
    const there = await begin(stage)
    const { id } = await stage.done(`policy.constraint.create_${scope}`, { ...there, body: rule(stage) })
    return { ...there, params: { ...there.params, constraint_id: id } }
  }
  return [
    [
      `policy.value.set_${scope}`,
      {
        ...held,
        actions: ['policy.value.set'],
        prepare: async (stage) => {
          const { person, params } = await begin(stage)
          return { person, params: { ...params, key }, body: value(stage) }
        },
        effect: (asking) => [
          part(
            'value',
            `policy_values r where r.key = $1 and r.reason = $2 and ${within}`,
            asking.params.key,
            asking.body.reason,
            ...owner(asking),
          ),
        ],
      },
    ],
    [
      `policy.value.remove_${scope}`,
      {
        ...held,
        actions: ['policy.value.remove'],
        // Set and ended for the same reason, by which the row is found.
        prepare: async (stage) => {
          const { person, params } = await begin(stage)
          const body = value(stage)
          const asking = { person, params: { ...params, key: endable } }
          await inTurn((expected) => stage.done(`policy.value.set_${scope}`, { ...asking, body: { ...body, ...expected } }))
          return { ...asking, body: { reason: body.reason } }
        },
        effect: (asking) => [
          part(
            'end',
            `policy_values r where r.key = $1 and r.reason = $2 and ${within} and r.replaced_at is not null`,
            asking.params.key,
            asking.body.reason,
            ...owner(asking),
          ),
        ],
      },
    ],
    [
      `policy.constraint.create_${scope}`,
      {
        ...held,
        actions: ['policy.constraint.create'],
        prepare: async (stage) => ({ ...(await begin(stage)), body: rule(stage) }),
        effect: (asking) => [
          part(
            'constraint',
            `policy_constraints r where r.key = $1 and r.reason = $2 and ${within}`,
            asking.body.key,
            asking.body.reason,
            ...owner(asking),
          ),
        ],
      },
    ],
    [
      `policy.constraint.update_${scope}`,
      {
        ...held,
        actions: ['policy.constraint.update'],
        prepare: async (stage) => ({ ...(await written(stage)), body: { state: 'disabled', expected_version: 1, reason: stage.word() } }),
        effect: ({ params, body }) => [
          part('version', 'policy_constraints where constraint_id = $1 and version = 2 and reason = $2', params.constraint_id, body.reason),
          part(
            'end of the one before',
            'policy_constraints where constraint_id = $1 and version = 1 and replaced_at is not null',
            params.constraint_id,
          ),
        ],
      },
    ],
    [
      `policy.constraint.delete_${scope}`,
      {
        ...held,
        actions: ['policy.constraint.delete'],
        prepare: async (stage) => ({ ...(await written(stage)), body: { reason: stage.word() } }),
        effect: ({ params, body }) => [
          part('end', 'policy_constraints where constraint_id = $1 and delete_reason = $2', params.constraint_id, body.reason),
        ],
      },
    ],
  ]
}

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
  ...Object.fromEntries(Object.entries(policyScenes).flatMap(([scope, scene]) => onPolicyOf(scope, scene))),
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
