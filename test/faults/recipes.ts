import { setTimeout as sleep } from 'node:timers/promises'
import { operations } from '../../contract/src/operations.ts'
import { fixedId } from '../../server/src/kernel/ids.ts'
import { seeded } from '../live-server.ts'
import { newKeyLine } from '../ssh-key-lines.ts'
import type { Intent } from './journal.ts'

type Asking = Pick<Intent, 'person' | 'params' | 'body'>

/** With this before it, a `person` is a machine, and the rest is its token. */
export const bearing = 'bearer '

/** What a recipe may use to set its scene. */
export interface Stage {
  /** A word that nothing else has. */
  readonly word: () => string
  /** Somebody who is a member of the seeded organization and project, and whom no other recipe uses. */
  readonly person: () => { id: string; subject: string }
  /** A node that has enrolled, and that no other recipe uses. */
  readonly node: () => string
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
  /** It needs something of which there is one: no other such case may be under way, whoever waits for it. */
  readonly is_alone?: true
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

/** Both scopes of roles: a place of one's own, which its owner has to himself. */
const roleScenes = {
  of_organization: {
    tier: 'tenant',
    keys: ['tenant.read', 'tenant.user.read'],
    begin: async (stage: Stage) => inOrganization((await newOrganization(stage)).id, 'alice'),
  },
  of_project: {
    tier: 'project',
    keys: ['storage.read', 'storage.write'],
    begin: async (stage: Stage) => inProject((await newProject(stage)).id),
  },
} as const

const onRolesOf = (scope: string, { tier, keys, begin }: (typeof roleScenes)[keyof typeof roleScenes]): [string, Recipe][] => {
  const words = (stage: Stage) => ({ reason: stage.word() })
  const defined = async (stage: Stage) => {
    const there = await begin(stage)
    const body = { name: stage.word(), permissions: [keys[0]], ...words(stage) }
    const { id } = await stage.done(`role.create_${scope}`, { ...there, body })
    return { role_id: id, there, one: { ...there, params: { ...there.params, role_id: id } } }
  }
  const bound = async (stage: Stage) => {
    const { role_id, there, one } = await defined(stage)
    const body = { principal_type: 'user', principal_id: user('alice'), role_id, ...words(stage) }
    const { id } = await stage.done(`role_binding.create_${scope}`, { ...there, body })
    return { role_id, there, one, binding_id: id }
  }
  const bindings = `${tier}_role_bindings b join role_definition_versions v on v.id = b.role_version_id where b.role_definition_id = $1`
  return [
    [
      `role.create_${scope}`,
      {
        actions: ['role.create'],
        prepare: async (stage) => ({ ...(await begin(stage)), body: { name: stage.word(), permissions: keys, ...words(stage) } }),
        effect: ({ body }) => [
          part('role', 'role_definitions where name = $1', body.name),
          part('version', 'role_definition_versions where reason = $1', body.reason),
        ],
      },
    ],
    [
      `role.update_${scope}`,
      {
        actions: ['role.update'],
        prepare: async (stage) => ({ ...(await defined(stage)).one, body: { permissions: keys, expected_version: 1, ...words(stage) } }),
        effect: ({ params, body }) => [
          part(
            'version',
            'role_definition_versions v join role_definitions d on d.current_version_id = v.id where d.id = $1 and v.version = 2 and v.reason = $2',
            params.role_id,
            body.reason,
          ),
        ],
      },
    ],
    [
      `role.delete_${scope}`,
      {
        actions: ['role.delete'],
        prepare: async (stage) => ({ ...(await defined(stage)).one, body: words(stage) }),
        effect: ({ params, body }) => [part('end', 'role_definitions where id = $1 and delete_reason = $2', params.role_id, body.reason)],
      },
    ],
    [
      `role.disable_${scope}`,
      {
        actions: ['role.disable'],
        prepare: async (stage) => ({ ...(await defined(stage)).one, body: { mode: 'block_all_now', ...words(stage) } }),
        effect: isRoleDisabled,
      },
    ],
    [
      `role.enable_${scope}`,
      {
        actions: ['role.enable'],
        prepare: async (stage) => {
          const { one } = await defined(stage)
          await stage.done(`role.disable_${scope}`, { ...one, body: { mode: 'block_all_now', ...words(stage) } })
          return { ...one, body: words(stage) }
        },
        effect: isRoleEnabled,
      },
    ],
    [
      `role.upgrade_${scope}`,
      {
        actions: ['role.upgrade'],
        prepare: async (stage) => {
          const { one } = await bound(stage)
          await stage.done(`role.update_${scope}`, { ...one, body: { permissions: keys, expected_version: 1, ...words(stage) } })
          const between = { from_version: 1, to_version: 2 }
          const seen: unknown = await stage.done(`role.preview_upgrade_${scope}`, { ...one, body: between })
          return { ...one, body: { ...between, preview_hash: (seen as { preview_hash: string }).preview_hash, ...words(stage) } }
        },
        effect: ({ params }) => [
          part('end of the one before', `${bindings} and v.version = 1 and b.delete_reason = 'upgraded'`, params.role_id),
          part('binding', `${bindings} and v.version = 2 and b.deleted_at is null`, params.role_id),
        ],
      },
    ],
    [
      `role_binding.create_${scope}`,
      {
        actions: ['role_binding.create'],
        prepare: async (stage) => {
          const { role_id, there } = await defined(stage)
          return { ...there, body: { principal_type: 'user', principal_id: user('alice'), role_id, ...words(stage) } }
        },
        effect: ({ body }) => [part('binding', `${bindings} and b.deleted_at is null`, body.role_id)],
      },
    ],
    [
      `role_binding.end_${scope}`,
      {
        actions: ['role_binding.end'],
        prepare: async (stage) => {
          const { there, binding_id } = await bound(stage)
          return { ...there, params: { ...there.params, binding_id }, body: words(stage) }
        },
        effect: ({ params, body }) => [
          part('end', `${tier}_role_bindings where id = $1 and delete_reason = $2`, params.binding_id, body.reason),
        ],
      },
    ],
  ]
}
const isRoleDisabled = ({ params, body }: Asking) => [
  part('disabled', `role_definitions where id = $1 and state = 'disabled' and disable_reason = $2`, params.role_id, body.reason),
]
const isRoleEnabled = ({ params }: Asking) => [part('enabled', `role_definitions where id = $1 and state = 'active'`, params.role_id)]

/** Built-in roles that no other recipe needs, in turn: by the time one comes again, whoever switched it is done. */
const switched = ['tenant_billing_manager', 'tenant_billing_viewer', 'tenant_admin', 'project_admin', 'project_member', 'platform_ops']
const nextSwitched = () => {
  switched.push(switched.shift()!)
  return { person: 'ada', params: { role_id: fixedId('role', switched[0]!) } }
}
/** So that it is as it must be; it may be so already. */
const switchTo = async (stage: Stage, to: 'enable' | 'disable', asking: Pick<Asking, 'person' | 'params'>) => {
  const body = to === 'disable' ? { mode: 'block_all_now', reason: stage.word() } : { reason: stage.word() }
  await stage.done(`role.${to}_builtin`, { ...asking, body }).catch(() => {})
  return asking
}

const onPlatformRoles: Readonly<Record<string, Recipe>> = {
  'role.disable_builtin': {
    lock: 'platform chain',
    actions: ['role.disable'],
    prepare: async (stage) => ({
      ...(await switchTo(stage, 'enable', nextSwitched())),
      body: { mode: 'block_all_now', reason: stage.word() },
    }),
    effect: isRoleDisabled,
  },
  'role.enable_builtin': {
    lock: 'platform chain',
    actions: ['role.enable'],
    prepare: async (stage) => ({ ...(await switchTo(stage, 'disable', nextSwitched())), body: { reason: stage.word() } }),
    effect: isRoleEnabled,
  },
  'role_binding.create_of_platform': {
    lock: 'platform chain',
    actions: ['role_binding.create'],
    prepare: async (stage) => ({
      person: 'ada',
      params: {},
      body: { principal_type: 'user', principal_id: stage.person().id, role_name: 'platform_user', reason: stage.word() },
    }),
    effect: ({ body }) => [part('binding', 'platform_role_bindings where principal_id = $1 and deleted_at is null', body.principal_id)],
  },
  'role_binding.end_of_platform': {
    lock: 'platform chain',
    actions: ['role_binding.end'],
    prepare: async (stage) => {
      const body = { principal_type: 'user', principal_id: stage.person().id, role_name: 'platform_user', reason: stage.word() }
      const { id } = await stage.done('role_binding.create_of_platform', { person: 'ada', params: {}, body })
      return { person: 'ada', params: { binding_id: id }, body: { reason: stage.word() } }
    },
    effect: ({ params, body }) => [
      part('end', 'platform_role_bindings where id = $1 and delete_reason = $2', params.binding_id, body.reason),
    ],
  },
  'project.owner.appoint': {
    lock: 'seeded organization',
    // Its owner has left the organization, which a project cannot stop.
    prepare: async (stage) => {
      const { id: owner_user_id } = stage.person()
      const slug = stage.word()
      const asking = { ...inOrganization(org.aurora, 'alice'), body: { name: slug, slug, owner_user_id, reason: slug } }
      const { id } = await stage.done('project.create', asking)
      const leaving = { ...asking, params: { ...asking.params, user_id: owner_user_id }, body: { reason: stage.word() } }
      await stage.done('organization.member.remove', leaving)
      return { ...inProject(id), body: { user_id: user('anna'), reason: stage.word() } }
    },
    effect: ({ params, body }) => {
      const { membership, binding } = memberships('project')
      const values = [params.project_id, body.user_id]
      return [part('membership', membership, ...values), part('binding', `${binding} and deleted_at is null`, ...values)]
    },
  },
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

/** There is one next key; when it is taken, another comes soon. */
const nextKey = async (stage: Stage): Promise<string> => {
  for (let tries = 0; ; tries += 1) {
    const { items } = (await stage.done('signing_key.list', { person: 'ada', params: {}, body: {} })) as unknown as {
      items: { kid: string; state: string }[]
    }
    const staged = items.find(({ state }) => state === 'staged')
    if (staged) return staged.kid
    if (tries === 100) throw new Error('no next signing key came')
    // Whoever took the last one may be dead, and would have looked after the next within a minute; being asked, a server does it at once.
    if (tries % 20 === 1)
      await stage.done('signing_key.rotate', { person: 'ada', params: {}, body: { reason: stage.word() } }).catch(() => {})
    await sleep(50)
  }
}
const onKeys = (verb: 'retire' | 'revoke', state: string): Recipe => ({
  lock: 'platform chain',
  is_alone: true,
  prepare: async (stage) => ({ person: 'ada', params: { kid: await nextKey(stage) }, body: { reason: stage.word() } }),
  effect: ({ params, body }) => [
    part(verb, 'signing_keys where kid = $1 and state = $2 and end_reason = $3', params.kid, state, body.reason),
  ],
})

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

/** An account in a project of one's own, and a key of it; whoever owns the project has the whole tier to give. */
const anAccount = async (stage: Stage) => {
  const there = inProject((await newProject(stage)).id)
  const slug = stage.word()
  const { id } = await stage.done('service_account.create', { ...there, body: { name: slug, slug, reason: stage.word() } })
  return { ...there, params: { ...there.params, service_account_id: id } }
}
const aKey = async (stage: Stage) => {
  const there = await anAccount(stage)
  const made: unknown = await stage.done('service_account.key.create', { ...there, body: { reason: stage.word() } })
  return { ...there, params: { ...there.params, key_id: (made as { key_id: string }).key_id } }
}
/** What it takes to ask for a token. */
const aCredential = async (stage: Stage) => {
  const there = await anAccount(stage)
  const made: unknown = await stage.done('service_account.key.create', { ...there, body: { reason: stage.word() } })
  const { key_id, client_secret } = made as { key_id: string; client_secret: string }
  return { service_account_id: there.params.service_account_id, key_id, client_secret }
}
const accountIs = (state: string) => (asking: Asking) => [
  part('state', 'service_accounts where id = $1 and state = $2', asking.params.service_account_id, state),
]
const onServiceAccounts: Readonly<Record<string, Recipe>> = {
  'service_account.create': {
    prepare: async (stage) => {
      const slug = stage.word()
      return { ...inProject((await newProject(stage)).id), body: { name: slug, slug, reason: slug } }
    },
    effect: ({ params, body }) => [part('account', 'service_accounts where project_id = $1 and slug = $2', params.project_id, body.slug)],
  },
  'service_account.disable': {
    prepare: async (stage) => ({ ...(await anAccount(stage)), body: { reason: stage.word() } }),
    effect: accountIs('disabled'),
  },
  'service_account.enable': {
    prepare: async (stage) => {
      const there = await anAccount(stage)
      await stage.done('service_account.disable', { ...there, body: { reason: stage.word() } })
      return { ...there, body: { reason: stage.word() } }
    },
    effect: accountIs('active'),
  },
  'service_account.delete': {
    prepare: async (stage) => {
      const { person, params } = await anAccount(stage)
      const { service_account_id, ...there } = params
      const body = {
        principal_type: 'service_account',
        principal_id: service_account_id,
        role_name: 'project_viewer',
        reason: stage.word(),
      }
      await stage.done('role_binding.create_of_project', { person, params: there, body })
      return { person, params, body: { reason: stage.word() } }
    },
    effect: (asking) => [
      ...accountIs('deleted')(asking),
      part(
        'binding',
        'project_role_bindings where principal_id = $1 and delete_reason = $2',
        asking.params.service_account_id,
        asking.body.reason,
      ),
    ],
  },
  'service_account.key.create': {
    prepare: async (stage) => ({ ...(await anAccount(stage)), body: { reason: stage.word() } }),
    effect: ({ params }) => [part('key', 'service_account_keys where service_account_id = $1', params.service_account_id)],
  },
  'service_account.key.rotate': {
    prepare: async (stage) => ({ ...(await aKey(stage)), body: { overlap_seconds: 600, reason: stage.word() } }),
    effect: ({ params }) => [
      part('key', 'service_account_keys where service_account_id = $1 and id <> $2', params.service_account_id, params.key_id),
      part('end of the older', 'service_account_keys where id = $1 and expires_at is not null', params.key_id),
    ],
  },
  'service_account.key.revoke': {
    prepare: async (stage) => ({ ...(await aKey(stage)), body: { reason: stage.word() } }),
    effect: ({ params, body }) => [part('end', 'service_account_keys where id = $1 and revoke_reason = $2', params.key_id, body.reason)],
  },
}

const aLine = (stage: Stage) => ({ name: stage.word(), public_key: newKeyLine(), reason: stage.word() })
const registered = (owner: string, id: unknown, name: unknown) => [
  part('key', `ssh_public_keys where ${owner} = $1 and name = $2 and deleted_at is null`, id, name),
]
const endedKey = ({ params, body }: Asking) => [
  part('end', 'ssh_public_keys where id = $1 and deleted_at is not null and delete_reason = $2', params.ssh_key_id, body.reason),
]
const newNode = async (stage: Stage): Promise<string> => {
  const body = { name: stage.word(), region: 'nowhere', sku: 'fault', gpus: 1, reason: stage.word() }
  return ((await stage.done('node.create', { person: 'ada', params: {}, body })) as unknown as { node: { id: string } }).node.id
}
const onNode = async (stage: Stage) => ({ person: 'ada', params: { node_id: await newNode(stage) }, body: { reason: stage.word() } })
const nodeIs = (status: string) => (asking: Asking) => [
  part('status', 'nodes where id = $1 and status = $2', asking.params.node_id, status),
]
const onNodes: Readonly<Record<string, Recipe>> = {
  'node.create': {
    lock: 'platform chain',
    prepare: async (stage) => ({
      person: 'ada',
      params: {},
      body: { name: stage.word(), region: 'nowhere', sku: 'fault', gpus: 1, reason: stage.word() },
    }),
    effect: ({ body }) => [
      part('node', 'nodes where name = $1', body.name),
      part('enrolment', 'node_enrolments e join nodes n on n.id = e.node_id where n.name = $1 and e.ended_at is null', body.name),
    ],
  },
  'node.enrolment.create': {
    lock: 'platform chain',
    prepare: onNode,
    // The one that came with the node is void when there is another.
    effect: ({ params }) => [part('void', 'node_enrolments where node_id = $1 and ended_at is not null', params.node_id)],
  },
  'node.drain': { lock: 'platform chain', prepare: onNode, effect: nodeIs('drained') },
  'node.undrain': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const there = await onNode(stage)
      await stage.done('node.drain', { ...there, body: { reason: stage.word() } })
      return there
    },
    effect: nodeIs('active'),
  },
  'node.retire': {
    lock: 'platform chain',
    prepare: onNode,
    effect: (asking) => [
      ...nodeIs('retired')(asking),
      part('enrolment', 'node_enrolments where node_id = $1 and ended_at is not null', asking.params.node_id),
    ],
  },
}

const onSshKeys: Readonly<Record<string, Recipe>> = {
  'ssh_key.create': {
    lock: 'platform chain',
    prepare: async (stage) => ({ person: stage.person().subject, params: {}, body: aLine(stage) }),
    effect: ({ person, body }) => [
      part('key', 'ssh_public_keys k join users u on u.id = k.user_id where u.oidc_subject = $1 and k.name = $2', person, body.name),
    ],
  },
  'ssh_key.delete': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const { subject } = stage.person()
      const { id } = await stage.done('ssh_key.create', { person: subject, params: {}, body: aLine(stage) })
      return { person: subject, params: { ssh_key_id: id }, body: { reason: stage.word() } }
    },
    effect: endedKey,
  },
  'project.ssh_key.create': {
    prepare: async (stage) => ({ ...inProject((await newProject(stage)).id), body: aLine(stage) }),
    effect: ({ params, body }) => registered('project_id', params.project_id, body.name),
  },
  'project.ssh_key.delete': {
    prepare: async (stage) => {
      const there = inProject((await newProject(stage)).id)
      const { id } = await stage.done('project.ssh_key.create', { ...there, body: aLine(stage) })
      return { ...there, params: { ...there.params, ssh_key_id: id }, body: { reason: stage.word() } }
    },
    effect: endedKey,
  },
}

/** In a project and a region of one's own, so that nobody waits for another's lock; on no node: there is none there. */
const aWish = async (stage: Stage, project_id: string) => {
  const there = inProject(project_id)
  const { id } = await stage.done('project.ssh_key.create', { ...there, body: aLine(stage) })
  const body = { project_id, name: stage.word(), region: stage.word(), sku: 'none', gpus: 1, ssh_key_ids: [id], reason: stage.word() }
  return { person: there.person, params: {}, body }
}
const anAllocation = async (stage: Stage, project_id: string) => {
  const wish = await aWish(stage, project_id)
  const { id } = await stage.done('allocation.create', wish)
  return { key_id: wish.body.ssh_key_ids[0]!, asking: { person: wish.person, params: { allocation_id: id } } }
}
const entries = 'allocation_ssh_public_keys where allocation_id = $1'
const onAllocations: Readonly<Record<string, Recipe>> = {
  'allocation.create': {
    prepare: async (stage) => aWish(stage, (await newProject(stage)).id),
    effect: ({ body }) => [
      part('allocation', 'allocations where project_id = $1 and name = $2', body.project_id, body.name),
      part('key', 'allocation_ssh_public_keys e join allocations a on a.id = e.allocation_id where a.name = $1', body.name),
    ],
  },
  'allocation.release': {
    prepare: async (stage) => ({ ...(await anAllocation(stage, (await newProject(stage)).id)).asking, body: { reason: stage.word() } }),
    effect: ({ params }) => [
      part('released', `allocations where id = $1 and state = 'released'`, params.allocation_id),
      part('end of the key', `${entries} and end_cause = 'allocation_released'`, params.allocation_id),
    ],
  },
  'allocation.ssh_keys.replace': {
    prepare: async (stage) => {
      const project_id = (await newProject(stage)).id
      const { asking } = await anAllocation(stage, project_id)
      const { id } = await stage.done('project.ssh_key.create', { ...inProject(project_id), body: aLine(stage) })
      return { ...asking, body: { ssh_key_ids: [id], reason: stage.word() } }
    },
    effect: ({ params, body }) => [
      part('key', `${entries} and ssh_key_id = $2 and ended_at is null`, params.allocation_id, (body.ssh_key_ids as string[])[0]),
      part('end of the former', `${entries} and end_cause = 'replaced'`, params.allocation_id),
    ],
  },
  'allocation.owner.name': {
    lock: 'seeded organization',
    prepare: async (stage) => {
      const project_id = (await newProject(stage, org.aurora)).id
      const member = { user_id: user('anna'), role_name: 'project_viewer', reason: stage.word() }
      await stage.done('project.member.add', { ...inProject(project_id), body: member })
      const { asking } = await anAllocation(stage, project_id)
      return { ...asking, body: { user_id: user('anna'), reason: stage.word() } }
    },
    effect: ({ params, body }) => [part('owner', 'allocations where id = $1 and owner_user_id = $2', params.allocation_id, body.user_id)],
  },
}

/** Somebody of the seeded project with a key of his own, and an allocation there that waits for a node. */
const toBeLetIn = async (stage: Stage) => {
  const { id, subject } = stage.person()
  const key = await stage.done('ssh_key.create', { person: subject, params: {}, body: aLine(stage) })
  const wish = { project_id: project.aurora, name: stage.word(), region: stage.word(), sku: 'none', gpus: 1, reason: stage.word() }
  const allocation = await stage.done('allocation.create', { person: 'amara', params: {}, body: wish })
  const body = { grantee_user_id: id, ssh_key_id: key.id, reason: stage.word() }
  return { person: 'amara', params: { allocation_id: allocation.id }, body }
}
const onAccessGrants: Readonly<Record<string, Recipe>> = {
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

/** In an organization of one's own. */
const aRuntime = async (stage: Stage) => {
  const org_id = (await newOrganization(stage)).id
  const words = { display_name: stage.word(), reason: stage.word() }
  const body = { app_slug: 'faults', app_version: '1', runtime_backend: 'slurm', ...words }
  return { person: 'alice', params: { org_id }, body }
}
const onARuntime = async (stage: Stage) => {
  const wish = await aRuntime(stage)
  const { id } = await stage.done('shared_runtime.create', wish)
  return { person: wish.person, params: { ...wish.params, shared_runtime_id: id }, body: { reason: stage.word() } }
}
const toAttach = async (stage: Stage) => {
  const asking = await onARuntime(stage)
  const { id } = await newProject(stage, asking.params.org_id)
  return { ...asking, body: { project_id: id, contribution_policy: 'all', ...asking.body } }
}
const attached = async (stage: Stage) => {
  const asking = await toAttach(stage)
  const { id } = await stage.done('shared_runtime.attachment.create', asking)
  return { ...asking, params: { ...asking.params, attachment_id: id }, body: { reason: stage.word() } }
}
const runtimes = 'shared_app_runtimes where id = $1'
const attachments = 'shared_runtime_attachments where'
const onSharedRuntimes: Readonly<Record<string, Recipe>> = {
  'shared_runtime.create': {
    prepare: aRuntime,
    effect: ({ body }) => [part('runtime', 'shared_app_runtimes where display_name = $1', body.display_name)],
  },
  'shared_runtime.update': {
    prepare: async (stage) => {
      const { body, ...asking } = await onARuntime(stage)
      return { ...asking, body: { app_version: stage.word(), delegated_actions: ['attach'], expected_version: 1, ...body } }
    },
    effect: ({ params, body }) => [
      part('version', `${runtimes} and version = 2 and app_version = $2`, params.shared_runtime_id, body.app_version),
    ],
  },
  'shared_runtime.disable': {
    prepare: onARuntime,
    effect: ({ params, body }) => [
      part('disabled', `${runtimes} and cursor_version = 2 and disable_reason = $2`, params.shared_runtime_id, body.reason),
    ],
  },
  'shared_runtime.enable': {
    prepare: async (stage) => {
      const asking = await onARuntime(stage)
      await stage.done('shared_runtime.disable', asking)
      return asking
    },
    effect: ({ params }) => [part('enabled', `${runtimes} and state = 'requested'`, params.shared_runtime_id)],
  },
  'shared_runtime.delete': {
    prepare: async (stage) => {
      const { params, ...asking } = await attached(stage)
      const of_runtime = { org_id: params.org_id, shared_runtime_id: params.shared_runtime_id }
      await stage.done('shared_runtime.operator_credential.create', { ...asking, params: of_runtime })
      return { ...asking, params: of_runtime }
    },
    effect: ({ params, body }) => [
      part('end', `${runtimes} and delete_reason = $2`, params.shared_runtime_id, body.reason),
      part('end of the attachment', `${attachments} shared_runtime_id = $1 and detach_reason = $2`, params.shared_runtime_id, body.reason),
      part('end of the credential', `${operatorKeys} shared_runtime_id = $1 and revoke_reason = $2`, params.shared_runtime_id, body.reason),
      part('end of the tokens', 'token_cutoffs where subject_id = $1 and reason = $2', params.shared_runtime_id, body.reason),
    ],
  },
  'shared_runtime.attachment.create': {
    prepare: toAttach,
    effect: ({ params, body }) => [
      part('attachment', `${attachments} shared_runtime_id = $1 and project_id = $2`, params.shared_runtime_id, body.project_id),
      part('count', `${runtimes} and cursor_version = 2`, params.shared_runtime_id),
    ],
  },
  'shared_runtime.attachment.update': {
    prepare: async (stage) => {
      const { body, ...asking } = await attached(stage)
      return { ...asking, body: { contribution_policy: 'none', ...body } }
    },
    effect: ({ params }) => [
      part('policy', `${attachments} id = $1 and contribution_policy = 'none'`, params.attachment_id),
      part('count', `${runtimes} and cursor_version = 3`, params.shared_runtime_id),
    ],
  },
  'shared_runtime.attachment.delete': {
    prepare: async (stage) => {
      const asking = await toAttach(stage)
      const letting = { eligible_project_ids: [asking.body.project_id], expected_version: 1, reason: stage.word() }
      await stage.done('shared_runtime.update', { ...asking, body: letting })
      const { id } = await stage.done('shared_runtime.attachment.create', asking)
      return { ...asking, params: { ...asking.params, attachment_id: id }, body: { reason: stage.word() } }
    },
    effect: ({ params, body }) => [
      part('end', `${attachments} id = $1 and detach_reason = $2`, params.attachment_id, body.reason),
      part('list', `${runtimes} and version = 3 and eligible_project_ids = '{}'`, params.shared_runtime_id),
      part('count', `${runtimes} and cursor_version = 3`, params.shared_runtime_id),
    ],
  },
}

/** A credential of the operator of a runtime, and whoever made it. */
const anOperator = async (stage: Stage) => {
  const { params, ...asking } = await onARuntime(stage)
  const { shared_runtime_id } = params
  const made: unknown = await stage.done('shared_runtime.operator_credential.create', { ...asking, params })
  const { key_id, client_secret } = made as { key_id: string; client_secret: string }
  return { params, asking, body: { shared_runtime_id, key_id, client_secret, reason: stage.word() } }
}
const operatorKeys = 'shared_runtime_operator_credentials where'
const onOperatorCredentials: Readonly<Record<string, Recipe>> = {
  'shared_runtime.operator_credential.create': {
    prepare: onARuntime,
    effect: ({ params }) => [part('credential', `${operatorKeys} shared_runtime_id = $1`, params.shared_runtime_id)],
  },
  'shared_runtime.operator_credential.revoke': {
    prepare: async (stage) => {
      const { params, asking, body } = await anOperator(stage)
      return { person: asking.person, params: { ...params, key_id: body.key_id }, body: { reason: stage.word() } }
    },
    effect: ({ params, body }) => [
      part('end', `${operatorKeys} id = $1 and revoke_reason = $2`, params.key_id, body.reason),
      part('count', `${runtimes} and cursor_version = 2`, params.shared_runtime_id),
    ],
  },
  'auth.shared_runtime_operator_token.issue': {
    prepare: async (stage) => ({ person: 'alice', params: {}, body: (await anOperator(stage)).body }),
    effect: ({ body }) => [part('token', 'issued_tokens where credential_id = $1 and reason = $2', body.key_id, body.reason)],
    actions: ['auth.token.issue'],
  },
}

/** As the operator of a runtime of its own, for which a secret is left. */
const asOperator = async (stage: Stage) => {
  const { params, asking, body } = await anOperator(stage)
  const issued: unknown = await stage.done('auth.shared_runtime_operator_token.issue', { person: 'alice', params: {}, body })
  return { params, owner: asking.person, person: `${bearing}${(issued as { access_token: string }).access_token}` }
}
const leaving = (stage: Stage, name = 'left') => ({ name, secret: stage.word(), reason: stage.word() })
const promised = async (stage: Stage) => {
  const { params, owner, person } = await asOperator(stage)
  const left = await stage.done('shared_runtime.credential.deposit', { person: owner, params, body: leaving(stage) })
  const told: unknown = await stage.done('shared_runtime.credential.deliver', { person, params, body: { name: 'left' } })
  return { params, owner, person, credential_id: left.id, wrapping_token: (told as { wrapping_token: string }).wrapping_token }
}
const credentials = 'shared_runtime_credentials c where c.shared_runtime_id = $1'
const deliveries = 'wrapped_deliveries d join shared_runtime_credentials c on c.id = d.subject_id where'
const onDeliveries: Readonly<Record<string, Recipe>> = {
  'shared_runtime.credential.deposit': {
    prepare: async (stage) => {
      const { params, owner } = await promised(stage)
      return { person: owner, params, body: leaving(stage) }
    },
    effect: ({ params: { shared_runtime_id } }) => [
      part('the next', `${credentials} and c.version = 2 and c.state = 'active' and c.envelope is not null`, shared_runtime_id),
      part('end of the first', `${credentials} and c.version = 1 and c.state = 'revoked'`, shared_runtime_id),
      part('end of the delivery', `${deliveries} c.shared_runtime_id = $1 and d.state = 'revoked'`, shared_runtime_id),
    ],
  },
  'shared_runtime.credential.revoke': {
    prepare: async (stage) => {
      const { params, owner, credential_id } = await promised(stage)
      return { person: owner, params: { ...params, credential_id }, body: { reason: stage.word() } }
    },
    effect: ({ params: { shared_runtime_id } }) => [
      part('end', `${credentials} and c.state = 'revoked' and c.envelope is null`, shared_runtime_id),
      part('end of the delivery', `${deliveries} c.shared_runtime_id = $1 and d.state = 'revoked'`, shared_runtime_id),
    ],
  },
  'shared_runtime.credential.deliver': {
    prepare: async (stage) => {
      const { params, owner, person } = await asOperator(stage)
      await stage.done('shared_runtime.credential.deposit', { person: owner, params, body: leaving(stage) })
      return { person, params, body: { name: 'left' } }
    },
    effect: ({ params }) => [part('delivery', `${deliveries} c.shared_runtime_id = $1 and d.state = 'waiting'`, params.shared_runtime_id)],
  },
  'delivery.unwrap': {
    prepare: async (stage) => {
      const { person, wrapping_token } = await promised(stage)
      return { person, params: {}, body: { wrapping_token } }
    },
    effect: ({ body: { wrapping_token } }) => {
      const ofToken = `${deliveries} d.token_hash = sha256(convert_to($1, 'UTF8'))`
      return [
        part('opened', `${ofToken} and d.state = 'opened'`, wrapping_token),
        part('delivered', `${ofToken} and c.state = 'delivered'`, wrapping_token),
      ]
    },
  },
  'shared_runtime.status.report': {
    prepare: async (stage) => ({ ...(await asOperator(stage)), body: { sequence: 1, state: 'running', message: stage.word() } }),
    effect: ({ params, body }) => [part('report', `${runtimes} and reported_message = $2`, params.shared_runtime_id, body.message)],
  },
  'shared_runtime.members.report': {
    prepare: async (stage) => {
      const member = { name: stage.word(), role: 'worker', state: 'ready', allocation_id: null }
      return { ...(await asOperator(stage)), body: { sequence: 1, members: [member] } }
    },
    effect: ({ params }) => [
      part('member', 'shared_runtime_members where shared_runtime_id = $1', params.shared_runtime_id),
      part('sequence', `${runtimes} and members_sequence = 1`, params.shared_runtime_id),
    ],
  },
}

/** As of signing keys: there is one next version, and when it is taken another comes soon. */
const nextSigner = async (stage: Stage): Promise<string> => {
  for (let tries = 0; ; tries += 1) {
    const { items } = (await stage.done('node.signer.list', { person: 'ada', params: {}, body: {} })) as unknown as {
      items: { kid: string; state: string }[]
    }
    const staged = items.find(({ state }) => state === 'staged')
    if (staged) return staged.kid
    if (tries === 100) throw new Error('no next version came of the key that signs tasks')
    // Being asked, a server looks after it at once.
    if (tries % 20 === 1)
      await stage.done('node.signer.rotate', { person: 'ada', params: {}, body: { reason: stage.word() } }).catch(() => {})
    await sleep(50)
  }
}
const onNodeTasks: Readonly<Record<string, Recipe>> = {
  'node.probe': {
    lock: 'platform chain',
    prepare: async (stage) => ({ person: 'ada', params: { node_id: stage.node() }, body: {} }),
    effect: ({ params }) => [part('task', `node_tasks where node_id = $1 and type = 'diag.health_probe'`, params.node_id)],
  },
  'node.signer.rotate': {
    lock: 'platform chain',
    is_alone: true,
    prepare: async (stage) => {
      await nextSigner(stage)
      return { person: 'ada', params: {}, body: { reason: stage.word() } }
    },
    // Which version it will be is not known before.
    effect: ({ body }) => [
      part(
        'active',
        `task_signers s join audit_logs a on a.resource_id = s.kid and a.action = 'node.signer.rotate' where a.metadata ->> 'reason' = $1 and s.activated_at is not null`,
        body.reason,
      ),
    ],
  },
  'node.signer.revoke': {
    lock: 'platform chain',
    is_alone: true,
    prepare: async (stage) => ({ person: 'ada', params: { kid: await nextSigner(stage) }, body: { reason: stage.word() } }),
    effect: ({ params, body }) => [
      part('revoke', `task_signers where kid = $1 and state = 'revoked' and end_reason = $2`, params.kid, body.reason),
    ],
  },
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
  ...Object.fromEntries(Object.entries(roleScenes).flatMap(([scope, scene]) => onRolesOf(scope, scene))),
  ...onPlatformRoles,
  ...onServiceAccounts,
  ...onNodes,
  ...onSshKeys,
  ...onAllocations,
  ...onAccessGrants,
  ...onSharedRuntimes,
  ...onDeliveries,
  ...onOperatorCredentials,
  ...onNodeTasks,
  ...Object.fromEntries(Object.entries(policyScenes).flatMap(([scope, scene]) => onPolicyOf(scope, scene))),
  'auth.service_account_token.issue': {
    prepare: async (stage) => ({ person: 'alice', params: {}, body: { ...(await aCredential(stage)), reason: stage.word() } }),
    effect: ({ body }) => [part('token', 'issued_tokens where credential_id = $1 and reason = $2', body.key_id, body.reason)],
    actions: ['auth.token.issue'],
  },
  'auth.token.revoke': {
    prepare: async (stage) => ({
      person: 'alice',
      params: {},
      body: { project_id: (await newProject(stage)).id, reason: stage.word() },
    }),
    effect: ({ body }) => [part('cut-off', 'token_cutoffs where subject_id = $1 and reason = $2', body.project_id, body.reason)],
  },
  'oauth.token.issue': {
    prepare: async (stage) => {
      const { key_id, client_secret } = await aCredential(stage)
      return { person: 'alice', params: {}, body: { grant_type: 'client_credentials', client_id: key_id, client_secret } }
    },
    effect: ({ body }) => [part('token', 'issued_tokens where credential_id = $1', body.client_id)],
    actions: ['auth.token.issue'],
  },
  'oauth.token.revoke': {
    prepare: async (stage) => {
      const credential = await aCredential(stage)
      const { key_id: client_id, client_secret } = credential
      const issued: unknown = await stage.done('auth.service_account_token.issue', { person: 'alice', params: {}, body: credential })
      return { person: 'alice', params: {}, body: { client_id, client_secret, token: (issued as { access_token: string }).access_token } }
    },
    effect: ({ body }) => [part('revoked', 'issued_tokens where credential_id = $1 and revoked_at is not null', body.client_id)],
    actions: ['auth.token.revoke'],
  },
  'signing_key.retire': onKeys('retire', 'retired'),
  'signing_key.revoke': onKeys('revoke', 'revoked'),
  'signing_key.rotate': {
    lock: 'platform chain',
    is_alone: true,
    prepare: async (stage) => {
      await nextKey(stage)
      return { person: 'ada', params: {}, body: { reason: stage.word() } }
    },
    // Which key it will be is not known before.
    effect: ({ body }) => [
      part(
        'active',
        `signing_keys k join audit_logs a on a.resource_id = k.kid and a.action = 'signing_key.rotate' where a.metadata ->> 'reason' = $1 and k.activated_at is not null`,
        body.reason,
      ),
    ],
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
  operations
    // Nodes ask at another door, which these servers do not have.
    .filter(({ id, effect, listener }) => effect === 'change' && listener === 'api' && !Object.hasOwn(recipes, id))
    .map(({ id }) => id)

export const operationOf = (id: string) => {
  const operation = operations.find((each) => each.id === id)
  if (!operation) throw new Error(`there is no operation ${id}`)
  return operation
}

export const isKeyed = (id: string): boolean => operationOf(id).effect === 'change'
export const actionsOf = (id: string): readonly string[] => recipes[id]!.actions ?? [id]
