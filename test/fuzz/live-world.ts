import { type LiveServer, seeded } from '../live-server.ts'
import { pathOf, type RightfulCall, rightfulCalls } from './rightful-calls.ts'

const { org, project: projectOf, user, usernames } = seeded
const named = new Map(usernames.map((username) => [user(username) as string, username]))

/** What the fuzz has made so far, so that a request can be in order; what may be switched off is kept apart from the rest. */
export const liveWorld = async (live: LiveServer) => {
  const projects: { id: string; owner: string }[] = []
  const joined: { project: string; owner: string; user_id: string }[] = []
  const parked = {
    orgs: [] as string[],
    projects: [] as string[],
    users: ['bodo', 'bryn', 'bruno', 'beate'].map((name) => user(name) as string),
  }
  const leavers = ['abel', 'agnes', 'arne', 'axel', 'aldo'].map((name) => user(name) as string)
  const joiners = ['anna', 'adam', 'asha', 'amara', 'alice'].map((name) => user(name) as string)
  const aurora = { org_id: org.aurora }

  const make = async (person: string, path: string, body: object): Promise<string> => {
    const { status, text, body: made } = await live.call(person, 'POST', path, { body })
    if (status !== 201) throw new Error(`the world of the fuzz cannot be made: ${status} ${text}`)
    return made.id
  }
  for (let n = 0; n < 4; n += 1) {
    parked.orgs.push(await make('ada', '/api/v1/orgs', { name: 'Parked', slug: `parked-${n}`, owner_user_id: user('bella') }))
    parked.projects.push(await make('alice', pathOf('/api/v1/orgs/:org_id/projects', aurora), { name: 'Parked', slug: `parked-${n}` }))
    const owner_user_id = user('amara')
    const id = await make('alice', pathOf('/api/v1/orgs/:org_id/projects', aurora), { name: 'Open', slug: `open-${n}`, owner_user_id })
    projects.push({ id, owner: 'amara' })
  }

  const aRule = { actions: ['allocation.create'], condition: { in: { region: ['nowhere'] } }, time_zone: 'UTC' }
  const rules: Record<string, { id: string; version: number }[]> = {}
  const policyScopes = {
    of_platform: { person: 'ada', params: {} as Record<string, string>, path: '/api/v1/admin/policies/constraints' },
    of_organization: { person: 'alice', params: aurora, path: `/api/v1/orgs/${org.aurora}/policies/constraints` },
    of_project: {
      person: 'alice',
      params: { project_id: projectOf.aurora },
      path: `/api/v1/projects/${projectOf.aurora}/policies/constraints`,
    },
  }
  for (const [scope, { person, path }] of Object.entries(policyScopes)) {
    rules[scope] = []
    for (let n = 0; n < 3; n += 1) rules[scope].push({ id: await make(person, path, { ...aRule, key: `rule-${n}` }), version: 1 })
  }
  const grace = 'authorization.role_disable_grace_window_seconds'
  const single = 'authorization.break_glass_single_person'
  const onPolicy = Object.entries(policyScopes).flatMap(([scope, { person, params }]): [string, (pick: number) => RightfulCall][] => {
    const isPlatform = scope === 'of_platform'
    const one = (pick: number) => at(rules[scope]!, pick) ?? { id: rules.of_platform![0]!.id, version: 1 }
    const keyFor = (pick: number) => (isPlatform ? (pick % 2 === 0 ? grace : single) : 'tenancy.invitation_ttl_seconds')
    // Whatever version chance names is nobody's; who names none sets it in any case.
    const free = { expected_version: undefined }
    const byId = (pick: number) => ({ person, params: { ...params, constraint_id: one(pick).id } })
    return [
      [
        `policy.value.set_${scope}`,
        (pick) => ({
          person,
          params: { ...params, key: keyFor(pick) },
          body: { ...free, value: keyFor(pick) === single ? pick % 4 === 1 : 3600 + (pick % 1000) },
        }),
      ],
      [`policy.value.remove_${scope}`, () => ({ person, params: { ...params, key: keyFor(0) } })],
      [`policy.constraint.create_${scope}`, (pick) => ({ person, params, body: { ...aRule, key: `fuzz-${pick}` } })],
      [`policy.constraint.read_${scope}`, byId],
      [`policy.constraint.list_versions_${scope}`, byId],
      [`policy.constraint.update_${scope}`, (pick) => ({ ...byId(pick), body: { ...aRule, expected_version: one(pick).version } })],
      [`policy.constraint.delete_${scope}`, byId],
    ]
  })

  const at = <T>(list: readonly T[], pick: number): T => list[pick % list.length]!
  const calls: Record<string, (pick: number) => RightfulCall> = {
    ...Object.fromEntries(onPolicy),
    ...Object.fromEntries(rightfulCalls.filter(({ operation }) => operation.is_decision).map((call) => [call.operation.id, () => call])),
    'organization.create': (pick) => ({ person: 'ada', params: {}, body: { owner_user_id: at(joiners, pick) } }),
    'organization.suspend': (pick) => ({ person: 'ada', params: { org_id: at(parked.orgs, pick) } }),
    'organization.resume': (pick) => ({ person: 'ada', params: { org_id: at(parked.orgs, pick) } }),
    'organization.member.remove': (pick) => ({ person: 'alice', params: { ...aurora, user_id: at(leavers, pick) } }),
    'project.create': (pick) => ({ person: 'alice', params: aurora, body: { owner_user_id: at(joiners, pick) } }),
    'project.archive': (pick) => ({ person: 'adam', params: { project_id: at(parked.projects, pick) } }),
    'project.restore': (pick) => ({ person: 'adam', params: { project_id: at(parked.projects, pick) } }),
    'project.member.add': (pick) => {
      const { id, owner } = at(projects, pick)
      const role_name = at(['project_owner', 'project_admin', 'project_member', 'project_viewer'], pick)
      return { person: owner, params: { project_id: id }, body: { user_id: at(joiners, pick >> 3), role_name } }
    },
    'project.member.remove': (pick) => {
      const { project, owner, user_id } = at(joined, pick) ?? { project: projects[0]!.id, owner: 'amara', user_id: user('anna') }
      return { person: owner, params: { project_id: project, user_id } }
    },
    'user.disable': (pick) => ({ person: 'ada', params: { user_id: at(parked.users, pick) } }),
    'user.enable': (pick) => ({ person: 'ada', params: { user_id: at(parked.users, pick) } }),
  }

  return {
    /** Who may do this now, and on what. */
    callFor: (operation: string, pick: number): RightfulCall => {
      const { person, params } = rightfulCalls.find((call) => call.operation.id === operation)!
      return calls[operation]?.(pick) ?? { person, params }
    },
    /** Remembers what a success has made or ended. */
    // biome-ignore lint/suspicious/noExplicitAny: an answer is read as a stranger would
    learn: (operation: string, params: Readonly<Record<string, string>>, body: any): void => {
      const ended = (each: { project: string; user_id: string }) => each.project === params.project_id && each.user_id === params.user_id
      const [, deed, scope] = /^policy\.constraint\.(create|update|delete)_(\w+)$/.exec(operation) ?? []
      const kept = rules[scope ?? '']
      const known = kept?.findIndex(({ id }) => id === params.constraint_id) ?? -1
      if (kept && deed === 'create') kept.push({ id: body.id, version: 1 })
      if (kept && deed === 'update' && known >= 0) kept[known]!.version = body.version
      if (kept && deed === 'delete' && known >= 0) kept.splice(known, 1)
      if (operation === 'project.member.add') {
        const owner = projects.find(({ id }) => id === params.project_id)?.owner
        if (owner && named.get(body.user_id) !== owner) joined.push({ project: params.project_id!, owner, user_id: body.user_id })
      }
      if (operation === 'project.member.remove') joined.splice(Math.max(0, joined.findIndex(ended)), joined.some(ended) ? 1 : 0)
      if (operation === 'project.create') {
        // Its owner is whoever was named, or its creator; both are known by name.
        const owner = named.get(body.owner_user_id) ?? 'alice'
        projects.push({ id: body.id, owner })
      }
    },
  }
}

export type LiveWorld = Awaited<ReturnType<typeof liveWorld>>
