import { createOrganizationConstraint } from '@gatehouse/contract/constraints'
import {
  addProjectMember,
  listOrganizationMembers,
  listProjectMembers,
  removeOrganizationMember,
  removeProjectMember,
} from '@gatehouse/contract/members'
import {
  createOrganization,
  readOrganization,
  resumeOrganization,
  suspendOrganization,
  updateOrganization,
} from '@gatehouse/contract/organizations'
import { archiveProject, createProject, listProjects, readProject, restoreProject } from '@gatehouse/contract/projects'
import { createOrganizationBinding } from '@gatehouse/contract/role-bindings'
import { createOrganizationRole } from '@gatehouse/contract/roles'
import { describe, expect, test } from 'vitest'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture()

const { org, project, user } = seeded

describe('organizations', () => {
  test('RP-30 creating an organization names its first owner, and both exist or neither', async () => {
    const made = await live.ask('ada', createOrganization, {
      body: { name: 'Cirrus', slug: 'cirrus', owner_user_id: user('anna'), reason: 'new customer' },
      headers: { 'x-request-id': 'founding' },
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ name: 'Cirrus', slug: 'cirrus', type: 'enterprise', state: 'active' })
    const read = await live.ask('anna', listOrganizationMembers, { params: { org_id: made.body.id } })
    expect(read.body.items).toMatchObject([{ user_id: user('anna'), roles: ['tenant_owner'] }])
    const [row] = await live.auditOf('founding')
    expect(row).toMatchObject({
      action: 'organization.create',
      actor_type: 'user',
      actor_id: user('ada'),
      platform_role: 'platform_superadmin',
      tenant_id: made.body.id,
      severity: 'high',
      result: 'success',
      metadata: { owner_user_id: user('anna'), reason: 'new customer' },
    })

    const nobody = { name: 'Nimbus', slug: 'nimbus', owner_user_id: '01890000-0000-7000-8000-000000000000' }
    const refused = await live.ask('ada', createOrganization, { body: nobody })
    expect(refused).toMatchObject({ status: 404, body: { code: 'user_not_found' } })
    expect(await live.sql("select id from organizations where slug = 'nimbus'")).toEqual([])
  })

  test('a superadmin cannot make himself the owner of a new organization or project', async () => {
    const mine = { name: 'Mine', slug: 'mine', owner_user_id: user('ada') }
    const refused = await live.ask('ada', createOrganization, { body: mine })
    expect(refused).toMatchObject({ status: 403, body: { details: { detail: 'override_self_grant' } } })
    const opened = await live.ask('ada', createProject, { params: { org_id: org.aurora }, body: { name: 'P', slug: 'p' } })
    expect(opened).toMatchObject({ status: 403, body: { details: { detail: 'override_self_grant' } } })
    const joined = await live.ask('ada', addProjectMember, {
      params: { project_id: project.aurora },
      body: { user_id: user('ada'), role_name: 'project_viewer' },
    })
    expect(joined).toMatchObject({ status: 403, body: { details: { detail: 'override_self_grant' } } })
  })

  test('a slug is taken once, whoever is first', async () => {
    const body = { name: 'Twice', slug: 'twice', owner_user_id: user('anna') }
    const answers = await Promise.all([1, 2, 3, 4].map(() => live.ask('ada', createOrganization, { body })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
    expect(answers.find(({ status }) => status === 409)!.body.code).toBe('organization_already_exists')
  })

  test('DE-21 in a suspended organization only reads are allowed, and the platform can resume it', async () => {
    const made = await live.ask('ada', createOrganization, { body: { name: 'S', slug: 'suspended', owner_user_id: user('bella') } })
    expect(
      (await live.ask('grace', suspendOrganization, { params: { org_id: made.body.id }, body: { reason: 'unpaid' } })).body.state,
    ).toBe('suspended')
    expect((await live.ask('bella', readOrganization, { params: { org_id: made.body.id } })).status).toBe(200)
    const renamed = await live.ask('bella', updateOrganization, { params: { org_id: made.body.id }, body: { name: 'T' } })
    expect(renamed).toMatchObject({ status: 403, body: { details: { reason_code: 'policy_constraint_denied' } } })
    expect((await live.ask('ada', updateOrganization, { params: { org_id: made.body.id }, body: { name: 'By override' } })).status).toBe(
      200,
    )
    expect((await live.ask('grace', suspendOrganization, { params: { org_id: made.body.id }, body: { reason: 'again' } })).body.code).toBe(
      'state_conflict',
    )
    expect((await live.ask('grace', resumeOrganization, { params: { org_id: made.body.id }, body: { reason: 'paid' } })).body.state).toBe(
      'active',
    )
    expect((await live.ask('bella', updateOrganization, { params: { org_id: made.body.id }, body: { name: 'T' } })).body.name).toBe('T')
  })

  test('a list shows exactly what a single read shows, at any page size', async () => {
    for (const person of seeded.usernames) {
      const all = await live.sql<{ id: string }>('select id from organizations')
      const readable: string[] = []
      for (const { id } of all) if ((await live.ask(person, readOrganization, { params: { org_id: id } })).status === 200) readable.push(id)
      for (const limit of [1, 2, 200]) {
        const listed: string[] = []
        for (let cursor: string | null = ''; cursor !== null; ) {
          const page = await live.call(person, 'GET', `/api/v1/orgs?limit=${limit}${cursor && `&cursor=${cursor}`}`)
          listed.push(...page.body.items.map(({ id }: { id: string }) => id))
          cursor = page.body.next_cursor
        }
        expect(listed).toEqual(readable.sort())
      }
    }
  })
})

describe('projects', () => {
  test('RP-30 a project belongs to its creator, or to the member that he names', async () => {
    const own = await live.ask('alice', createProject, { params: { org_id: org.aurora }, body: { name: 'Own', slug: 'own' } })
    expect(own.status).toBe(201)
    expect((await live.ask('alice', listProjectMembers, { params: { project_id: own.body.id } })).body.items).toMatchObject([
      { user_id: user('alice'), roles: ['project_owner'] },
    ])
    const given = await live.ask('alice', createProject, {
      params: { org_id: org.aurora },
      body: { name: 'Given', slug: 'given', owner_user_id: user('anna') },
    })
    expect((await live.ask('anna', listProjectMembers, { params: { project_id: given.body.id } })).body.items).toMatchObject([
      { user_id: user('anna'), roles: ['project_owner'] },
    ])
    const stranger = await live.ask('alice', createProject, {
      params: { org_id: org.aurora },
      body: { name: 'Stranger', slug: 'stranger', owner_user_id: user('bella') },
    })
    expect(stranger).toMatchObject({ status: 409, body: { code: 'not_tenant_member' } })
  })

  test('RP-07 a tenant role alone opens no project: its owner too is told that he is no member', async () => {
    const refused = await live.ask('alice', listProjectMembers, { params: { project_id: project.aurora } })
    expect(refused).toMatchObject({ status: 403, body: { details: { reason_code: 'membership_missing' } } })
  })

  test('who may not see all projects sees his own', async () => {
    const slugs = async (person: string) =>
      (await live.ask(person, listProjects, { params: { org_id: org.aurora } })).body.items.map(({ slug }: { slug: string }) => slug)
    expect(await slugs('anna')).toContain('training')
    expect(await slugs('arne')).toEqual([])
    const joined = await live.ask('amara', addProjectMember, {
      params: { project_id: project.aurora },
      body: { user_id: user('arne'), role_name: 'project_viewer' },
    })
    expect(joined.status).toBe(201)
    expect(await slugs('arne')).toEqual(['training'])
    expect((await live.ask('arne', readProject, { params: { project_id: project.aurora } })).status).toBe(200)
  })

  test('RP-04 whoever may list all projects of his organization finds them, also those that he may not read', async () => {
    const role = { name: 'lister', permissions: ['tenant.project.read'], reason: 'because' }
    expect((await live.ask('alice', createOrganizationRole, { params: { org_id: org.aurora }, body: role })).status).toBe(201)
    const body = { principal_type: 'user', principal_id: user('agnes'), role_name: 'lister', reason: 'because' } as const
    const names = async (person: string) => (await live.ask(person, listProjects, { params: { org_id: org.aurora } })).body.items
    expect(await names('agnes')).toEqual([])
    expect((await live.ask('alice', createOrganizationBinding, { params: { org_id: org.aurora }, body })).status).toBe(201)
    expect(await names('agnes')).toEqual(await names('alice'))
    expect((await live.ask('agnes', readProject, { params: { project_id: project.aurora } })).status).toBe(403)
    // Where a rule takes that from him, he still finds what he may read.
    const rule = { key: 'no-lists', actions: ['tenant.project.read'], condition: {} }
    expect((await live.ask('alice', createOrganizationConstraint, { params: { org_id: org.aurora }, body: rule })).status).toBe(201)
    expect(await names('agnes')).toEqual([])
    const member = { user_id: user('agnes'), role_name: 'project_viewer' }
    expect((await live.ask('amara', addProjectMember, { params: { project_id: project.aurora }, body: member })).status).toBe(201)
    expect(await names('agnes')).toMatchObject([{ id: project.aurora }])
    await live.sql('delete from policy_constraints')
  })

  test('an archived project is read-only, and its organization can bring it back', async () => {
    const made = await live.ask('alice', createProject, { params: { org_id: org.aurora }, body: { name: 'Old', slug: 'old' } })
    expect((await live.ask('adam', archiveProject, { params: { project_id: made.body.id }, body: { reason: 'done' } })).body.state).toBe(
      'archived',
    )
    const add = { body: { user_id: user('anna'), role_name: 'project_viewer' } }
    expect(await live.ask('alice', addProjectMember, { params: { project_id: made.body.id }, ...add })).toMatchObject({
      status: 403,
      body: { details: { reason_code: 'policy_constraint_denied' } },
    })
    expect((await live.ask('alice', listProjectMembers, { params: { project_id: made.body.id } })).status).toBe(200)
    expect((await live.ask('adam', restoreProject, { params: { project_id: made.body.id }, body: { reason: 'needed' } })).body.state).toBe(
      'active',
    )
    expect((await live.ask('alice', addProjectMember, { params: { project_id: made.body.id }, ...add })).status).toBe(201)
  })
})

describe('memberships', () => {
  test('nobody gives a project role beyond his own authority', async () => {
    const give = (grantor: string, role_name: string, username: string) =>
      live.ask(grantor, addProjectMember, { params: { project_id: project.borealis }, body: { user_id: user(username), role_name } })
    expect(await give('basil', 'project_owner', 'bella')).toMatchObject({
      status: 403,
      body: { details: { reason_code: 'permission_denied', detail: 'assignment_ceiling' } },
    })
    expect(await give('birgit', 'project_viewer', 'bella')).toMatchObject({
      status: 403,
      body: { details: { reason_code: 'permission_denied' } },
    })
    expect((await give('basil', 'project_admin', 'bella')).status).toBe(201)
    expect((await give('berta', 'project_owner', 'boris')).status).toBe(201)
    expect(await give('berta', 'tenant_owner', 'bjorn')).toMatchObject({ status: 404, body: { code: 'role_not_found' } })
    expect(await give('berta', 'project_viewer', 'boris')).toMatchObject({ status: 409, body: { code: 'member_already_exists' } })
    expect(await give('berta', 'project_viewer', 'alice')).toMatchObject({ status: 409, body: { code: 'not_tenant_member' } })
  })

  test('RP-21 leaving an organization ends all that rested on it, in one transaction, and nothing comes back by itself', async () => {
    const gone = await live.ask('boris', removeOrganizationMember, {
      params: { org_id: org.borealis, user_id: user('birgit') },
      body: { reason: 'moved on' },
      headers: { 'x-request-id': 'removal' },
    })
    expect(gone.status).toBe(204)
    const rows = await live.sql(
      `select deleted_at, deleted_by, delete_reason from tenant_memberships where user_id = $1 and tenant_id = $2
       union all select deleted_at, deleted_by, delete_reason from project_memberships where user_id = $1 and project_id = $3
       union all select deleted_at, deleted_by, delete_reason from tenant_role_bindings where principal_id = $1 and tenant_id = $2
       union all select deleted_at, deleted_by, delete_reason from project_role_bindings where principal_id = $1 and project_id = $3`,
      [user('birgit'), org.borealis, project.borealis],
    )
    expect(rows).toHaveLength(4)
    for (const row of rows)
      expect(row).toMatchObject({ deleted_by: user('boris'), delete_reason: 'moved on', deleted_at: rows[0]!.deleted_at })
    expect((await live.ask('birgit', readOrganization, { params: { org_id: org.borealis } })).status).toBe(404)
    expect((await live.ask('birgit', readProject, { params: { project_id: project.borealis } })).status).toBe(404)
    expect(await live.auditOf('removal')).toMatchObject([
      {
        action: 'organization.member.remove',
        tenant_id: org.borealis,
        metadata: { user_id: user('birgit'), ended_projects: [project.borealis] },
      },
    ])
    expect(
      await live.ask('boris', removeOrganizationMember, { params: { org_id: org.borealis, user_id: user('birgit') }, body: {} }),
    ).toMatchObject({ status: 404, body: { code: 'member_not_found' } })
  })

  test('the last owner stays, the last but one may go, and one may always leave', async () => {
    const made = await live.ask('ada', createOrganization, { body: { name: 'L', slug: 'last', owner_user_id: user('agnes') } })
    expect(
      await live.ask('agnes', removeOrganizationMember, { params: { org_id: made.body.id, user_id: user('agnes') }, body: {} }),
    ).toMatchObject({
      status: 409,
      body: { code: 'last_owner' },
    })
    expect((await live.ask('agnes', readOrganization, { params: { org_id: made.body.id } })).status).toBe(200)
    expect(
      (await live.ask('axel', removeProjectMember, { params: { project_id: project.aurora, user_id: user('axel') }, body: {} })).status,
    ).toBe(204)
    expect(
      await live.ask('amara', removeProjectMember, { params: { project_id: project.aurora, user_id: user('amara') }, body: {} }),
    ).toMatchObject({
      status: 409,
      body: { code: 'last_owner' },
    })
  })

  test('two project owners who remove each other at once leave one of them', async () => {
    for (let round = 0; round < 15; round += 1) {
      const body = { name: 'Race', slug: `race-${round}` }
      const { body: made } = await live.ask('alice', createProject, { params: { org_id: org.aurora }, body })
      await live.ask('alice', addProjectMember, {
        params: { project_id: made.id },
        body: { user_id: user('anna'), role_name: 'project_owner' },
      })
      const both = await Promise.all([
        live.ask('alice', removeProjectMember, { params: { project_id: made.id, user_id: user('anna') }, body: {} }),
        live.ask('anna', removeProjectMember, { params: { project_id: made.id, user_id: user('alice') }, body: {} }),
      ])
      const statuses = both.map(({ status }) => status).sort()
      // Either order is a serial one: whoever came second is no member any more.
      expect(statuses[0]).toBe(204)
      expect([403, 404]).toContain(statuses[1])
    }
  })

  test('only an owner ends an owner', async () => {
    const refused = await live.ask('adam', removeOrganizationMember, { params: { org_id: org.aurora, user_id: user('alice') }, body: {} })
    expect(refused).toMatchObject({ status: 403, body: { details: { detail: 'assignment_ceiling' } } })
  })
})
