import { setTimeout as sleep } from 'node:timers/promises'
import { inOrganization, inProject, newOrganization, newProject } from './places.ts'
import { type Asking, part, type Recipe, type Recipes, type Stage } from './recipe.ts'

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

export const policies: Recipes = Object.fromEntries(Object.entries(policyScenes).flatMap(([scope, scene]) => onPolicyOf(scope, scene)))
