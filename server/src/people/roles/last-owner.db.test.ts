import { createOrganization } from '@gatehouse/contract/organizations'
import { createProject } from '@gatehouse/contract/projects'
import { createPlatformBinding, endPlatformBinding, listPlatformBindings } from '@gatehouse/contract/role-bindings'
import { disableUser, enableUser } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { roleIdOf, roleVersionIdOf } from '#rails/authz/catalogue.ts'
import { crowd, type Somebody } from '../../../../test/crowd.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { bindings, members, scopedAsk } from '../../../../test/scoped-roles.ts'

let other: string
let people: Somebody[]
/** An organization and a project of its own for this, so that the owners can be counted. */
const scopes = { tenant: '', project: '' }
type Tier = keyof typeof scopes
const live = serverFixture({ policies: noRateLimits }, async (live) => {
  other = (await live.replica()).url
  people = await crowd(live, 4)
  const owner_user_id = people[0]!.id
  const org = await live.ask('ada', createOrganization, { body: { name: 'Owned', slug: 'owned', owner_user_id } })
  scopes.tenant = org.body.id
  await live.sql(
    `insert into tenant_memberships (id, tenant_id, user_id, created_at) select gen_random_uuid(), $1, unnest($2::uuid[]), now() on conflict do nothing`,
    [scopes.tenant, people.map(({ id }) => id)],
  )
  const made = await live.ask(people[0]!.subject, createProject, {
    params: { org_id: scopes.tenant },
    body: { name: 'Owned', slug: 'owned', owner_user_id },
  })
  expect(made.status).toBe(201)
  scopes.project = made.body.id
})
const askIn = scopedAsk(live, scopes)

const because = { reason: 'because' }
const ownerOf = { tenant: 'tenant_owner', project: 'project_owner' } as const
const end = (person: string, tier: Tier, binding: string, base?: string) =>
  askIn(tier, person, bindings.end, { params: { binding_id: binding }, body: because, base })
const remove = (person: string, tier: Tier, user_id: string, base?: string) =>
  askIn(tier, person, members.remove, { params: { user_id }, body: because, base })
const said = ({ status, body }: Answered) => [status, body?.details?.detail ?? body?.code].filter((part) => part !== undefined).join(' ')

/** Everybody belongs there, and these and nobody else own it; the ids of their bindings. */
const ownedBy = async (tier: Tier, owners: readonly Somebody[]): Promise<string[]> => {
  const scope = scopes[tier]
  const ids = owners.map(() => newId('binding') as string)
  for (const each of ['tenant', 'project'] as const)
    await live.sql(
      `insert into ${each}_memberships (id, ${each}_id, user_id, created_at) select gen_random_uuid(), $1, unnest($2::uuid[]), now() on conflict do nothing`,
      [scopes[each], people.map(({ id }) => id)],
    )
  await live.sql(
    `update ${tier}_role_bindings set deleted_at = now(), delete_reason = 'cleared' where ${tier}_id = $1 and deleted_at is null`,
    [scope],
  )
  await live.sql(
    `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at)
     select id, $3, 'user', owner, $4, now() from unnest($1::uuid[], $2::uuid[]) as o (id, owner)`,
    [ids, owners.map(({ id }) => id), scope, roleVersionIdOf(ownerOf[tier])],
  )
  return ids
}
const ownersOf = async (tier: Tier): Promise<string[]> =>
  (
    await live.sql<{ principal_id: string }>(
      `select principal_id from ${tier}_role_bindings where ${tier}_id = $1 and role_definition_id = $2 and deleted_at is null`,
      [scopes[tier], roleIdOf(ownerOf[tier])],
    )
  ).map(({ principal_id }) => principal_id)

describe.for(['tenant', 'project'] as const)('the last owner of a %s', (tier) => {
  test('RP-20 stays: neither his binding nor his membership ends, whoever asks', async () => {
    const [first, second] = people as [Somebody, Somebody]
    const [binding] = await ownedBy(tier, [first])
    for (const person of [first.subject, 'ada']) {
      expect([person, said(await end(person, tier, binding!))]).toEqual([person, '409 last_owner'])
      expect([person, said(await remove(person, tier, first.id))]).toEqual([person, '409 last_owner'])
    }
    // Whoever is no owner is refused before it is asked whether another one is left.
    expect(said(await end(second.subject, tier, binding!))).toBe('403 insufficient_permissions')
    expect(await ownersOf(tier)).toEqual([first.id])
  })

  test('RP-20 one of two may go, and one who is disabled is not the other', async () => {
    const [first, second] = people as [Somebody, Somebody]
    const [mine] = await ownedBy(tier, [first, second])
    expect((await live.ask('ada', disableUser, { params: { user_id: second.id }, body: because })).status).toBe(200)
    expect(said(await end(first.subject, tier, mine!))).toBe('409 last_owner')
    expect(said(await remove(first.subject, tier, first.id))).toBe('409 last_owner')
    expect((await live.ask('ada', enableUser, { params: { user_id: second.id }, body: because })).status).toBe(200)
    expect(said(await end(first.subject, tier, mine!))).toBe('204')
    expect(await ownersOf(tier)).toEqual([second.id])
  })

  test('RP-20 another role of the last owner ends like any other', async () => {
    const [first] = people as [Somebody]
    await ownedBy(tier, [first])
    const role_name = tier === 'tenant' ? 'tenant_member' : 'project_member'
    const body = { principal_type: 'user' as const, principal_id: first.id, role_name }
    const more = await askIn(tier, first.subject, bindings.create, { body })
    expect(said(await end(first.subject, tier, more.body.id))).toBe('204')
    expect(await ownersOf(tier)).toEqual([first.id])
  })

  type Race = (first: Somebody, second: Somebody, bindings: string[]) => Promise<Answered>[]
  const races: [rounds: number, how: string, race: Race, lost: RegExp][] = [
    [
      tier === 'tenant' ? 100 : 20,
      'end each other’s binding',
      ({ subject }, second, [mine, theirs]) => [end(subject, tier, theirs!), end(second.subject, tier, mine!, other)],
      /^(403 insufficient_permissions|409 last_owner)$/,
    ],
    [
      15,
      'remove each other',
      (first, second) => [remove(first.subject, tier, second.id), remove(second.subject, tier, first.id, other)],
      /^(40[34] \w+|409 last_owner)$/,
    ],
    [
      15,
      'both give up',
      ({ subject }, second, [mine, theirs]) => [end(subject, tier, mine!), end(second.subject, tier, theirs!, other)],
      /^409 last_owner$/,
    ],
    [
      15,
      'both leave',
      (first, second) => [remove(first.subject, tier, first.id), remove(second.subject, tier, second.id, other)],
      /^409 last_owner$/,
    ],
    [
      15,
      'one ends the other while that one removes him',
      (first, second, [, theirs]) => [end(first.subject, tier, theirs!), remove(second.subject, tier, first.id, other)],
      /^(40[34] \w+|409 last_owner)$/,
    ],
  ]
  test.for(races)('E10 RP-20 on two servers, %i times, two owners %s: one goes, one stays', async ([rounds, , race, lost]) => {
    const [first, second] = people as [Somebody, Somebody]
    for (let round = 0; round < rounds; round += 1) {
      const bindings = await ownedBy(tier, [first, second])
      const answers = await Promise.all(race(first, second, bindings))
      const [won, refused] = [answers.filter(({ status }) => status === 204), answers.filter(({ status }) => status !== 204)]
      expect([won.length, refused.map(said)]).toEqual([1, [expect.stringMatching(lost)]])
      expect(await ownersOf(tier)).toHaveLength(1)
    }
  })

  test('RP-20 of four owners who all give up at once, one stays', async () => {
    for (let round = 0; round < 8; round += 1) {
      const bindings = await ownedBy(tier, people)
      const answers = await Promise.all(people.map(({ subject }, at) => end(subject, tier, bindings[at]!, at % 2 ? other : undefined)))
      expect(answers.map(said).sort()).toEqual(['204', '204', '204', '409 last_owner'])
      expect(await ownersOf(tier)).toHaveLength(1)
    }
  })
})

test('RP-20 the last superadmin stays, of two who end each other one', async () => {
  const bindings = async () => {
    const { body } = await live.ask('ada', listPlatformBindings)
    const rows = await live.sql<{ id: string; principal_id: string }>(
      'select id, principal_id from platform_role_bindings where deleted_at is null and role_definition_id = $1',
      [roleIdOf('platform_superadmin')],
    )
    return { body, of: (name: string) => rows.find(({ principal_id }) => principal_id === seeded.user(name))?.id, count: rows.length }
  }
  const endSuperadmin = (person: string, id: string, base?: string) =>
    live.ask(person, endPlatformBinding, { params: { binding_id: id }, body: because, base })
  for (let round = 0; round < 12; round += 1) {
    const { of, count } = await bindings()
    expect(count).toBe(2)
    const answers = await Promise.all([endSuperadmin('ada', of('grace')!), endSuperadmin('grace', of('ada')!, other)])
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
    const left = answers[0]!.status === 204 ? 'ada' : 'grace'
    const gone = left === 'ada' ? 'grace' : 'ada'
    const after = await bindings()
    expect([after.count, said(await endSuperadmin(left, after.of(left)!))]).toEqual([1, '409 last_owner'])
    const body = { principal_type: 'user', principal_id: seeded.user(gone), role_name: 'platform_superadmin' } as const
    expect(said(await live.ask(left, createPlatformBinding, { body }))).toBe('201')
  }
})
