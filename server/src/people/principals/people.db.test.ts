import { addProjectMember, removeProjectMember } from '@gatehouse/contract/members'
import { createOrganization } from '@gatehouse/contract/organizations'
import { setPlatformPolicyValue } from '@gatehouse/contract/policies'
import { createProject } from '@gatehouse/contract/projects'
import { disableUser, enableUser, listUsers, readMe, readUser } from '@gatehouse/contract/users'
import { expect, test } from 'vitest'
import { liveServer, seeded, serverFixture } from '../../../../test/live-server.ts'

const { org, user } = seeded
const live = serverFixture()

test('HO-06 the first sign-in makes the person, a personal organization and a default project, once', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, () => live.ask('newcomer', readMe)))
  for (const { status } of answers) expect(status).toBe(200)
  const me = answers[0]!.body
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  expect(me).toMatchObject({
    username: 'newcomer',
    email: null,
    platform_roles: [],
    organizations: [{ roles: ['tenant_owner'], projects: [{ slug: 'default', roles: ['project_owner'] }] }],
  })
  expect(await live.sql('select type from organizations where id = $1', [me.organizations[0]!.id])).toEqual([{ type: 'personal' }])
  const rows = await live.sql('select action, actor_type, actor_id from audit_logs where tenant_id = $1 or resource_id = $2 order by id', [
    me.organizations[0]!.id,
    me.id,
  ])
  expect(rows).toEqual(
    ['user.create', 'organization.create', 'project.create'].map((action) => ({ action, actor_type: 'system', actor_id: 'first_sign_in' })),
  )
})

test('HO-06 first sign-in: policy tenancy.personal_organizations is false → the person and nothing else; set again → as before', async () => {
  const key = 'tenancy.personal_organizations'
  const set = (value: boolean) => live.ask('ada', setPlatformPolicyValue, { params: { key }, body: { value, reason: 'how we work' } })
  expect((await set(false)).status).toBe(200)
  const { status, body } = await live.ask('employee', readMe)
  expect([status, body.username, body.organizations]).toEqual([200, 'employee', []])
  const rows = await live.sql('select action from audit_logs where resource_id = $1', [body.id])
  expect(rows).toEqual([{ action: 'user.create' }])
  expect((await set(true)).status).toBe(200)
  // It is about the first sign-in: nobody gets one later.
  expect((await live.ask('employee', readMe)).body.organizations).toEqual([])
  expect((await live.ask('freelancer', readMe)).body.organizations).toHaveLength(1)
})

test('HO-06 what the provider claims about roles gives none', async () => {
  const { signText } = await import('./oidc/testing/local-issuer.ts')
  const now = Math.floor(Date.now() / 1000)
  const claims = live.issuer.claims(now, {
    sub: 'climber',
    role: 'admin',
    roles: ['platform_superadmin'],
    groups: ['admins'],
    realm_access: { roles: ['admin'] },
  })
  const token = await signText(live.issuer.key, JSON.stringify(claims))
  const headers = { authorization: `Bearer ${token}` }
  expect((await live.ask(null, readMe, { headers })).body.platform_roles).toEqual([])
  expect((await live.ask(null, listUsers, { headers })).status).toBe(403)
})

test('HO-06 disabling a person works at once on every process, and enabling brings him back', async () => {
  const other = await live.replica()
  expect((await live.ask('bjorn', readMe)).status).toBe(200)
  expect(
    (await live.ask('ada', disableUser, { params: { user_id: user('bjorn') }, body: { reason: 'left the company' } })).body.disabled_at,
  ).not.toBeNull()
  for (const base of [live.url, other.url])
    for (const asked of [
      '/api/v1/me',
      `/api/v1/orgs/${org.borealis}`,
      `/api/v1/orgs/${org.aurora}`,
      '/api/v1/orgs/01890000-0000-7000-8000-000000000000',
    ])
      expect(await live.call('bjorn', 'GET', asked, {}, base)).toMatchObject({
        status: 403,
        body: { details: { reason_code: 'actor_disabled' } },
      })
  expect((await live.ask('ada', disableUser, { params: { user_id: user('bjorn') }, body: { reason: 'again' } })).body.code).toBe(
    'state_conflict',
  )
  expect(
    (await live.ask('grace', enableUser, { params: { user_id: user('bjorn') }, body: { reason: 'came back' } })).body.disabled_at,
  ).toBeNull()
  expect((await live.ask('bjorn', readMe, { base: other.url })).status).toBe(200)
})

test('DE-05 a disabled superadmin is nobody', async () => {
  await live.ask('ada', disableUser, { params: { user_id: user('grace') }, body: { reason: 'test' } })
  const refused = await live.ask('grace', enableUser, { params: { user_id: user('grace') }, body: { reason: 'let me in' } })
  expect(refused).toMatchObject({ status: 403, body: { details: { reason_code: 'actor_disabled' } } })
  await live.ask('ada', enableUser, { params: { user_id: user('grace') }, body: { reason: 'test over' } })
})

test('two superadmins who disable each other at once leave one', async () => {
  for (let round = 0; round < 10; round += 1) {
    const both = await Promise.all([
      live.ask('ada', disableUser, { params: { user_id: user('grace') }, body: { reason: 'race' } }),
      live.ask('grace', disableUser, { params: { user_id: user('ada') }, body: { reason: 'race' } }),
    ])
    const active = await live.sql<{ username: string }>(
      "select username from users where username in ('ada', 'grace') and disabled_at is null",
    )
    expect(active.length).toBeGreaterThanOrEqual(1)
    for (const { status } of both) expect([200, 403, 409]).toContain(status)
    await live.sql('update users set disabled_at = null, disabled_by = null, disable_reason = null')
  }
})

test('only the platform reads and changes people', async () => {
  for (const person of ['alice', 'otto'])
    expect(await live.ask(person, readUser, { params: { user_id: user('anna') } })).toMatchObject({
      status: 403,
      body: { details: { reason_code: 'permission_denied' } },
    })
  expect(await live.ask('ada', readUser, { params: { user_id: '01890000-0000-7000-8000-000000000000' } })).toMatchObject({ status: 404 })
  expect((await live.ask('ada', readUser, { params: { user_id: user('anna') } })).body).toMatchObject({ username: 'anna' })
})

test('HO-06 no key at hand for the issuer is a 503, never a skipped check', async () => {
  const cut = await liveServer()
  try {
    cut.issuer.state.answer = 'refuse_connection'
    const answered = await cut.ask('alice', readMe)
    expect(answered).toMatchObject({ status: 503, body: { code: 'dependency_unavailable' } })
  } finally {
    await cut.stop()
  }
})

test('HO-06 whatever a provider calls a person, he can sign in', async () => {
  const { signText } = await import('./oidc/testing/local-issuer.ts')
  const now = Math.floor(Date.now() / 1000)
  const odd = [
    { email: 'a' },
    { email: '\u{1f600}a' },
    { preferred_username: 'next\u0085line' },
    { preferred_username: `${'x'.repeat(79)}\u{1f600}\u{1f600}` },
    { preferred_username: '\u{1f600}'.repeat(127), email: '' },
    { preferred_username: 42, email: ['a@b.c'] },
  ]
  for (const [n, claims] of odd.entries()) {
    const token = await signText(live.issuer.key, JSON.stringify(live.issuer.claims(now, { sub: `odd-${n}`, ...claims })))
    expect((await live.ask(null, readMe, { headers: { authorization: `Bearer ${token}` } })).status, JSON.stringify(claims)).toBe(200)
  }
})

test('RP-33 E15 what a token says of an address does not count against one that was issued later', async () => {
  const { signText } = await import('./oidc/testing/local-issuer.ts')
  const now = Math.floor(Date.now() / 1000)
  const said = async (issued_at: number, email: string) => {
    const claims = live.issuer.claims(issued_at, { sub: 'two-tokens', email, email_verified: true })
    const token = await signText(live.issuer.key, JSON.stringify(claims))
    return async () => (await live.ask(null, readMe, { headers: { authorization: `Bearer ${token}` } })).body.email
  }
  const [older, before, after] = [await said(now - 90, 'older'), await said(now - 60, 'before'), await said(now - 30, 'after')]
  expect(await before()).toBe('before')
  expect(await older()).toBe('before')
  expect(await after()).toBe('after')
  for (const each of [before, after, older, before]) expect(await each()).toBe('after')
  expect(await live.sql("select count(*)::int as rows from audit_logs where action = 'user.address'")).toEqual([{ rows: 1 }])
})

test('a disabled person gets no old answer replayed, not even an empty one', async () => {
  const remove = () =>
    live.ask('basil', removeProjectMember, {
      params: { project_id: seeded.project.borealis, user_id: user('bodo') },
      body: {},
      headers: { 'idempotency-key': 'k-disabled' },
    })
  expect((await remove()).status).toBe(204)
  await live.ask('ada', disableUser, { params: { user_id: user('basil') }, body: { reason: 'gone' } })
  expect(await remove()).toMatchObject({ status: 403, body: { details: { reason_code: 'actor_disabled' } } })
})

test('a disabled owner does not count: the last who can act stays', async () => {
  const made = await live.ask('bella', createProject, { params: { org_id: org.borealis }, body: { name: 'Two', slug: 'two-owners' } })
  await live.ask('bella', addProjectMember, {
    params: { project_id: made.body.id },
    body: { user_id: user('bryn'), role_name: 'project_owner' },
  })
  await live.ask('ada', disableUser, { params: { user_id: user('bryn') }, body: { reason: 'gone' } })
  expect(
    await live.ask('bella', removeProjectMember, { params: { project_id: made.body.id, user_id: user('bella') }, body: {} }),
  ).toMatchObject({ status: 409, body: { code: 'last_owner' } })
  expect(
    (await live.ask('bella', removeProjectMember, { params: { project_id: made.body.id, user_id: user('bryn') }, body: {} })).status,
  ).toBe(204)
})

test('a superadmin who belongs to an organization has there what anybody has', async () => {
  const made = await live.ask('grace', createOrganization, { body: { name: 'Own', slug: 'ada-owns', owner_user_id: user('ada') } })
  const opened = await live.ask('ada', createProject, {
    params: { org_id: made.body.id },
    body: { name: 'P', slug: 'p' },
    headers: { 'x-request-id': 'own-right' },
  })
  expect(opened.status).toBe(201)
  expect(await live.auditOf('own-right')).toMatchObject([{ severity: 'info' }])
})

test('a superadmin with a small role of his own may not do less for it', async () => {
  await live.sql('insert into tenant_memberships (id, tenant_id, user_id, created_at) values (gen_random_uuid(), $1, $2, now())', [
    org.aurora,
    user('grace'),
  ])
  expect(
    (
      await live.ask('amara', addProjectMember, {
        params: { project_id: seeded.project.aurora },
        body: { user_id: user('grace'), role_name: 'project_admin' },
      })
    ).status,
  ).toBe(201)
  const given = await live.ask('grace', addProjectMember, {
    params: { project_id: seeded.project.aurora },
    body: { user_id: user('anna'), role_name: 'project_owner' },
    headers: { 'x-request-id': 'beyond' },
  })
  expect(given.status).toBe(201)
  expect(await live.auditOf('beyond')).toMatchObject([{ severity: 'high' }])
  expect(
    (await live.ask('grace', removeProjectMember, { params: { project_id: seeded.project.aurora, user_id: user('anna') }, body: {} }))
      .status,
  ).toBe(204)
  expect(
    (await live.ask('grace', removeProjectMember, { params: { project_id: seeded.project.aurora, user_id: user('grace') }, body: {} }))
      .status,
  ).toBe(204)
  // Beyond her own authority it is override again, which gives nothing to herself.
  const mine = await live.ask('grace', addProjectMember, {
    params: { project_id: seeded.project.aurora },
    body: { user_id: user('grace'), role_name: 'project_owner' },
  })
  expect(mine).toMatchObject({ status: 403, body: { details: { detail: 'override_self_grant' } } })
})
