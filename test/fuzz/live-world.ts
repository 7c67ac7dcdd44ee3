import { createServiceAccountKey } from '../../contract/src/service-accounts.ts'
import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { keyPair } from '../../server/src/machines/oauth/testing/signing.ts'
import { type LiveServer, seeded } from '../live-server.ts'
import { newKeyLine } from '../ssh-key-lines.ts'
import type { RightfulCall } from './rightful-call.ts'
import { pathOf, rightfulCalls, writeSigningKeys } from './rightful-calls.ts'
import { worldOfAccess } from './world-of-access.ts'
import { worldOfNodes } from './world-of-nodes.ts'
import { worldOfOperators } from './world-of-operators.ts'
import { worldOfRuntimes } from './world-of-runtimes.ts'

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

  // Who comes from outside accepts once; what waits can be taken back once.
  const invitees = ['bella', 'boris', 'bjorn', 'berta', 'basil', 'birgit']
  const own = await make('alice', pathOf('/api/v1/orgs/:org_id/projects', aurora), { name: 'Own', slug: 'own' })
  const offered = async (path: string, email: string, role_name: string): Promise<string> => {
    const { status, text, body } = await live.call('alice', 'POST', path, { body: { email, role_name } })
    if (status !== 201) throw new Error(`the world of the fuzz cannot be made: ${status} ${text}`)
    return body.invitation.id
  }
  const waiting = { accept: [] as string[], of_organization: [] as string[], of_project: [] as string[] }
  for (const name of invitees) {
    const inOrg = `/api/v1/orgs/${org.aurora}/invitations`
    waiting.accept.push(await offered(inOrg, `${name}@borealis.example`, 'tenant_viewer'))
    waiting.of_organization.push(await offered(inOrg, `${name}@mail.example`, 'tenant_viewer'))
    waiting.of_project.push(await offered(`/api/v1/projects/${own}/invitations`, `${name}@mail.example`, 'project_viewer'))
  }
  /** The role by its name alone, and in its current version. */
  const asRole = (role_name: string) => ({ role_name, role_id: undefined, version: undefined })

  // Roles: some to be changed, some to be switched, some to be ended, and one that can be moved on as often as one likes.
  const roleScopes = {
    of_organization: {
      person: 'alice',
      params: aurora,
      path: pathOf('/api/v1/orgs/:org_id', aurora),
      keys: ['tenant.read', 'tenant.user.read'],
    },
    of_project: { person: 'alice', params: { project_id: own }, path: `/api/v1/projects/${own}`, keys: ['storage.read', 'storage.write'] },
  } as const
  type RoleScope = keyof typeof roleScopes
  const roles = { of_organization: new Map<string, string[]>(), of_project: new Map<string, string[]>() }
  const versions = new Map<string, number>()
  const hashes = new Map<string, string>()
  const bindings: Record<string, string[]> = { of_organization: [], of_project: [], of_platform: [] }
  for (const [scope, { person, path, keys }] of Object.entries(roleScopes)) {
    for (const use of ['changed', 'switched', 'ended', 'moved', 'bound'])
      for (let n = 0; n < 4; n += 1) {
        const id = await make(person, `${path}/roles`, { name: `${use}-${n}`, permissions: keys })
        const kept = roles[scope as RoleScope]
        kept.set(use, [...(kept.get(use) ?? []), id])
        versions.set(id, 1)
      }
    const moved = roles[scope as RoleScope].get('moved')![0]!
    await live.call(person, 'PATCH', `${path}/roles/${moved}`, { body: { permissions: [keys[0]], expected_version: 1, reason: 'r' } })
    const preview = { from_version: 1, to_version: 2 }
    hashes.set(scope, (await live.call(person, 'POST', `${path}/roles/${moved}/bulk-upgrade/preview`, { body: preview })).body.preview_hash)
  }
  // Service accounts: some that keep their keys, some to be switched, some to be ended.
  const ownAccounts = `/api/v1/projects/${own}/service-accounts`
  const accounts = new Map<string, string[]>()
  for (const use of ['keyed', 'switched', 'ended'])
    for (let n = 0; n < 4; n += 1) {
      const id = await make('alice', ownAccounts, { name: use, slug: `${use}-${n}` })
      accounts.set(use, [...(accounts.get(use) ?? []), id])
    }
  const keys: { service_account_id: string; key_id: string }[] = []
  const keyed = async (): Promise<void> => {
    for (const service_account_id of accounts.get('keyed')!) {
      const { body } = await live.ask('alice', createServiceAccountKey, { params: { project_id: own, service_account_id }, body: {} })
      keys.push({ service_account_id, key_id: body.key_id })
    }
  }
  await keyed()
  await keyed()
  await live.setPolicy('auth.service_account_max_keys', 100)
  // A key that nobody ends, to ask for tokens with.
  const issuing = await make('alice', ownAccounts, { name: 'Issuing', slug: 'issuing' })
  const { body: credential } = await live.ask('alice', createServiceAccountKey, {
    params: { project_id: own, service_account_id: issuing },
    body: {},
  })
  /** By its secret, and so by nothing else. */
  const client = {
    ...{ client_id: credential.key_id, client_secret: credential.client_secret },
    ...{ client_assertion: undefined, client_assertion_type: undefined },
  }
  await writeSigningKeys(live.sql)
  // Their owners have lost the role by other means than the product's.
  const ownerless: string[] = []
  for (let n = 0; n < 3; n += 1)
    ownerless.push(await make('alice', pathOf('/api/v1/orgs/:org_id/projects', aurora), { name: 'Lost', slug: `lost-${n}` }))
  await live.sql(`update project_role_bindings set deleted_at = now(), delete_reason = 'lost' where project_id = any($1::uuid[])`, [
    ownerless,
  ])

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
  // Where all of them have ended, one that has.
  const ended = rules.of_platform![0]!.id
  const grace = 'authorization.role_disable_grace_window_seconds'
  const single = 'authorization.break_glass_single_person'
  const onPolicy = Object.entries(policyScopes).flatMap(([scope, { person, params }]): [string, (pick: number) => RightfulCall][] => {
    const isPlatform = scope === 'of_platform'
    const one = (pick: number) => at(rules[scope]!, pick) ?? { id: ended, version: 1 }
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
  const ofRoles = (scope: RoleScope): Record<string, (pick: number) => RightfulCall> => {
    const { person, params, keys } = roleScopes[scope]
    const pickRole = (use: string, pick: number) => {
      const role_id = at(roles[scope].get(use)!, pick)
      return { person, params: { ...params, role_id }, role_id }
    }
    const moving = { from_version: 1, to_version: 2 }
    const plain = { is_assignable_to_service_accounts: undefined }
    return {
      [`role.create_${scope}`]: () => ({ person, params, body: { permissions: keys, ...plain } }),
      [`role.read_${scope}`]: (pick) => pickRole('changed', pick),
      [`role.versions_${scope}`]: (pick) => pickRole('changed', pick),
      [`role.update_${scope}`]: (pick) => {
        const { role_id, ...one } = pickRole('changed', pick)
        return { ...one, body: { permissions: keys.slice(pick % 2), expected_version: versions.get(role_id), ...plain } }
      },
      [`role.delete_${scope}`]: (pick) => pickRole('ended', pick),
      [`role.disable_${scope}`]: (pick) => ({ ...pickRole('switched', pick), body: { mode: 'block_all_now' } }),
      [`role.enable_${scope}`]: (pick) => pickRole('switched', pick),
      [`role.preview_upgrade_${scope}`]: () => ({ ...pickRole('moved', 0), body: moving }),
      [`role.upgrade_${scope}`]: () => ({ ...pickRole('moved', 0), body: { ...moving, preview_hash: hashes.get(scope) } }),
      [`role_binding.list_${scope}`]: () => ({ person, params }),
      [`role_binding.create_${scope}`]: (pick) => ({
        person,
        params,
        body: {
          principal_type: 'user',
          principal_id: scope === 'of_project' ? user('alice') : at(joiners, pick),
          role_id: at(roles[scope].get('bound')!, pick >> 3),
          ...{ role_name: undefined, version: undefined, expires_at: undefined },
        },
      }),
      [`role_binding.end_${scope}`]: (pick) => ({
        person,
        params: { ...params, binding_id: at(bindings[scope]!, pick) ?? user('anna') },
      }),
    }
  }
  const ofAccount = (use: string) => (pick: number) => ({
    person: 'alice',
    params: { project_id: own, service_account_id: at(accounts.get(use)!, pick) },
  })
  const ofKey = (pick: number) => ({ person: 'alice', params: { project_id: own, ...at(keys, pick) } })
  /** Whatever end chance names lies in the past. */
  const endless = { expires_at: undefined }
  const { jwk } = keyPair()
  /** Chance makes no public key. */
  const perhapsPublic = (pick: number) => ({ public_jwk: pick % 2 === 0 ? undefined : jwk })
  const onAccounts: Record<string, (pick: number) => RightfulCall> = {
    'auth.service_account_token.issue': () => ({
      person: 'alice',
      params: {},
      body: {
        service_account_id: issuing,
        key_id: credential.key_id,
        client_secret: credential.client_secret,
        // What chance asserts is not so, and what it wishes for is not allowed.
        ...{ actor_type: undefined, actor_id: undefined, org_id: undefined, project_id: undefined },
        ...{ resource_type: undefined, resource_id: undefined, audience: undefined, scope: undefined },
      },
    }),
    'oauth.token.issue': () => ({
      person: 'alice',
      params: {},
      body: { ...client, grant_type: 'client_credentials', audience: undefined, resource: undefined, scope: undefined },
    }),
    'oauth.token.introspect': () => ({ person: 'alice', params: {}, body: client }),
    'oauth.token.revoke': () => ({ person: 'alice', params: {}, body: client }),
    'auth.token.list_of_project': () => ({ person: 'alice', params: { project_id: own } }),
    'auth.token.revoke': (pick) => ({
      person: 'alice',
      params: {},
      body: {
        ...{ token_id: undefined, credential_id: undefined, actor: undefined, org_id: undefined, platform: undefined },
        // Whatever instant chance names may lie ahead; and what is issued later is not to be ended.
        ...{ project_id: own, issued_before: `20${10 + (pick % 10)}-01-01T00:00:00.000Z` },
      },
    }),
    'service_account.create': () => ({ person: 'alice', params: { project_id: own } }),
    'service_account.list': () => ({ person: 'alice', params: { project_id: own } }),
    'service_account.read': ofAccount('keyed'),
    'service_account.disable': ofAccount('switched'),
    'service_account.enable': ofAccount('switched'),
    'service_account.delete': ofAccount('ended'),
    'service_account.key.list': ofAccount('keyed'),
    'service_account.key.create': (pick) => ({ ...ofAccount('keyed')(pick), body: { ...endless, ...perhapsPublic(pick) } }),
    'service_account.key.rotate': (pick) => ({
      ...ofKey(pick),
      body: { ...endless, ...perhapsPublic(pick), overlap_seconds: pick % 1000 },
    }),
    'service_account.key.revoke': ofKey,
  }
  const onNodes = await worldOfNodes(live)
  const access = await worldOfAccess(live)
  const onRuntimes = await worldOfRuntimes(live, ownerless)
  const operators = await worldOfOperators(live)
  const nobodysKey = fixedId('ssh key', 'nobody')
  const sshKeys: Record<'own' | 'project', string[]> = { own: [], project: [] }
  await live.setPolicy('access.max_ssh_keys', 1000)
  await live.setPolicy('allocations.max_requested_per_project', 10_000)
  const builtin = () => ({ person: 'ada', params: { role_id: fixedId('role', 'tenant_billing_viewer') } })
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
    'invitation.create_of_organization': () => ({ person: 'alice', params: aurora, body: asRole('tenant_viewer') }),
    'invitation.create_of_project': () => ({ person: 'alice', params: { project_id: own }, body: asRole('project_viewer') }),
    'invitation.end_of_organization': (pick) => ({
      person: 'alice',
      params: { ...aurora, invitation_id: at(waiting.of_organization, pick) },
    }),
    'invitation.end_of_project': (pick) => ({
      person: 'alice',
      params: { project_id: own, invitation_id: at(waiting.of_project, pick) },
    }),
    'invitation.accept': (pick) => ({
      person: at(invitees, pick),
      params: {},
      body: { invitation_id: at(waiting.accept, pick) },
    }),
    ...ofRoles('of_organization'),
    ...ofRoles('of_project'),
    ...onAccounts,
    ...onNodes.calls,
    ...access.calls,
    ...onRuntimes.calls,
    ...operators.calls,
    // Chance makes no key; and whoever has registered one already is told so.
    'ssh_key.create': () => ({ person: 'asha', params: {}, body: { public_key: newKeyLine() } }),
    'ssh_key.delete': (pick) => ({ person: 'asha', params: { ssh_key_id: at(sshKeys.own, pick) ?? nobodysKey } }),
    'project.ssh_key.create': () => ({ person: 'asha', params: { project_id: projectOf.aurora }, body: { public_key: newKeyLine() } }),
    'project.ssh_key.delete': (pick) => ({
      person: 'asha',
      params: { project_id: projectOf.aurora, ssh_key_id: at(sshKeys.project, pick) ?? nobodysKey },
    }),
    'role.disable_builtin': () => ({ ...builtin(), body: { mode: 'block_all_now' } }),
    'role.enable_builtin': builtin,
    'role_binding.create_of_platform': (pick) => ({
      person: 'ada',
      params: {},
      body: { principal_type: 'user', principal_id: at(joiners, pick), role_name: 'platform_ops', role_id: undefined },
    }),
    'role_binding.end_of_platform': (pick) => ({
      person: 'ada',
      params: { binding_id: at(bindings.of_platform!, pick) ?? user('anna') },
    }),
    'project.owner.appoint': (pick) => ({
      person: 'alice',
      params: { project_id: at(ownerless, pick) },
      body: { user_id: at(joiners, pick >> 3) },
    }),
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
      const [, deed, of] = /^policy\.constraint\.(create|update|delete)_(\w+)$/.exec(operation) ?? []
      const kept = rules[of ?? '']
      const known = kept?.findIndex(({ id }) => id === params.constraint_id) ?? -1
      if (kept && deed === 'create') kept.push({ id: body.id, version: 1 })
      if (kept && deed === 'update' && known >= 0) kept[known]!.version = body.version
      if (kept && deed === 'delete' && known >= 0) kept.splice(known, 1)
      if (operation === 'project.member.add') {
        const owner = projects.find(({ id }) => id === params.project_id)?.owner
        if (owner && named.get(body.user_id) !== owner) joined.push({ project: params.project_id!, owner, user_id: body.user_id })
      }
      if (operation === 'project.member.remove') joined.splice(Math.max(0, joined.findIndex(ended)), joined.some(ended) ? 1 : 0)
      onNodes.learn(operation, body)
      access.learn(operation, params, body)
      onRuntimes.learn(operation, params, body)
      operators.learn(operation, params, body)
      const [, whose, what] = /^(project\.)?ssh_key\.(create|delete)$/.exec(operation) ?? []
      const registered = sshKeys[whose ? 'project' : 'own']
      if (what === 'create') registered.push(body.id)
      if (what === 'delete') registered.splice(registered.indexOf(params.ssh_key_id!), 1)
      const [noun, scope] = operation.split(/_(?=of_)/)
      if (/^service_account\.key\.(?:create|rotate)$/.test(operation))
        keys.push({ service_account_id: body.service_account_id, key_id: body.key_id })
      if (operation === 'service_account.key.revoke')
        keys.splice(
          keys.findIndex(({ key_id }) => key_id === params.key_id),
          1,
        )
      if (noun === 'role.update') versions.set(body.id, body.version)
      if (noun === 'role_binding.create') bindings[scope!]!.push(body.id)
      if (noun === 'role_binding.end') bindings[scope!] = bindings[scope!]!.filter((id) => id !== params.binding_id)
      if (operation === 'project.create') {
        // Its owner is whoever was named, or its creator; both are known by name.
        const owner = named.get(body.owner_user_id) ?? 'alice'
        projects.push({ id: body.id, owner })
      }
    },
  }
}

export type LiveWorld = Awaited<ReturnType<typeof liveWorld>>
