import {
  endOrganizationInvitation,
  inviteToOrganization,
  inviteToProject,
  listMyInvitations,
  listOrganizationInvitations,
  listProjectInvitations,
} from '@gatehouse/contract/invitations'
import { addProjectMember, listOrganizationMembers } from '@gatehouse/contract/members'
import { readOrganization } from '@gatehouse/contract/organizations'
import { setOrganizationPolicyValue, setProjectPolicyValue } from '@gatehouse/contract/policies'
import { createOrganizationBinding } from '@gatehouse/contract/role-bindings'
import { createOrganizationRole, disableOrganizationRole, updateOrganizationRole } from '@gatehouse/contract/roles'
import { beforeEach, describe, expect, test } from 'vitest'
import { ceiling, type InvitationWorld, invitationsOn, word } from '../../../../test/invitation-scene.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture({ policies: noRateLimits })
const { accept, invite, joinAs, membershipsOf, newcomer, rolesOf, rowOf, world } = invitationsOn(live)

let here: InvitationWorld
beforeEach(async () => {
  here = await world()
})

describe('inviting into an organization', () => {
  test('RP-33 an address is offered a role, sees the offer and accepts it once', async () => {
    const who = await newcomer()
    const offered = await invite(here.admin, here.path, `  ${who.email.toUpperCase()} `, 'tenant_viewer', { reason: 'needs to look' })
    expect(offered).toMatchObject({
      status: 201,
      body: {
        status: 'pending',
        member: null,
        invitation: {
          org_id: here.org_id,
          org_name: 'World',
          project_id: null,
          email: who.email,
          role_name: 'tenant_viewer',
          version: 1,
          inviter_user_id: here.admin.id,
          state: 'pending',
        },
      },
    })
    const { invitation } = offered.body
    for (const by of [here.owner, here.admin])
      expect((await live.ask(by.name, listOrganizationInvitations, { params: { org_id: here.org_id } })).body.items).toEqual([invitation])
    expect((await live.ask(who.name, listMyInvitations)).body.items).toEqual([invitation])
    // Nothing is given before it is accepted.
    expect((await live.ask(who.name, readOrganization, { params: { org_id: here.org_id } })).status).toBe(404)

    const id = word('accept')
    expect(await accept(who, invitation.id, { 'x-request-id': id })).toMatchObject({
      status: 200,
      body: { ...invitation, state: 'accepted' },
    })
    expect(await rolesOf(who)).toContainEqual({ id: here.org_id, roles: ['tenant_viewer'], projects: [] })
    expect(await live.auditOf(id)).toMatchObject([
      {
        action: 'invitation.accept',
        tenant_id: here.org_id,
        actor_id: who.id,
        resource_id: invitation.id,
        severity: 'info',
        metadata: { inviter_user_id: here.admin.id, role_name: 'tenant_viewer', joined: ['tenant'] },
      },
    ])
    const [membership] = await live.sql('select created_by from tenant_memberships where user_id = $1 and tenant_id = $2', [
      who.id,
      here.org_id,
    ])
    expect(membership).toEqual({ created_by: here.admin.id })
    expect((await live.ask(who.name, listMyInvitations)).body.items).toEqual([])
    expect((await live.ask(here.owner.name, listOrganizationInvitations, { params: { org_id: here.org_id } })).body.items).toEqual([])
    expect(await accept(who, invitation.id)).toMatchObject({
      status: 409,
      body: { code: 'state_conflict', details: { state: 'accepted' } },
    })
  })

  test('RP-33 it is recorded who invited whom as what', async () => {
    const id = word('invite')
    const { body } = await live.ask(here.owner.name, inviteToOrganization, {
      params: { org_id: here.org_id },
      body: { email: 'Somebody@Mail.Example', role_name: 'tenant_member', reason: 'because' },
      headers: { 'x-request-id': id },
    })
    expect(await live.auditOf(id)).toMatchObject([
      {
        action: 'invitation.create',
        tenant_id: here.org_id,
        resource_id: body.invitation!.id,
        severity: 'info',
        metadata: { email: 'somebody@mail.example', role_name: 'tenant_member', version: 1, reason: 'because' },
      },
    ])
  })

  test('E12 nobody offers a role beyond his own authority', async () => {
    expect(await invite(here.admin, here.path, 'x@mail.example', 'tenant_owner')).toMatchObject(ceiling)
    expect(await invite(here.admin, here.path, 'x@mail.example', 'tenant_billing_manager')).toMatchObject(ceiling)
    expect((await invite(here.owner, here.path, 'x@mail.example', 'tenant_owner')).status).toBe(201)
    // The version counts, not the name: an older one may hold more.
    const { body: role } = await live.ask(here.owner.name, createOrganizationRole, {
      params: { org_id: here.org_id },
      body: { name: 'wide', permissions: ['tenant.policy.write'] },
    })
    await live.ask(here.owner.name, updateOrganizationRole, {
      params: { org_id: here.org_id, role_id: role.id },
      body: { permissions: ['tenant.read'], expected_version: 1, reason: 'narrower' },
    })
    expect(await invite(here.admin, here.path, 'y@mail.example', 'wide', { version: 1 })).toMatchObject(ceiling)
    expect((await invite(here.admin, here.path, 'y@mail.example', 'wide')).body.invitation).toMatchObject({ version: 2 })
  })

  test('RP-33 who may not invite may neither offer, nor see, nor end; a stranger learns nothing', async () => {
    const { body } = await invite(here.owner, here.path, 'x@mail.example', 'tenant_viewer')
    const one = `${here.path}/invitations/${body.invitation.id}`
    for (const [method, path, sending] of [
      ['POST', `${here.path}/invitations`, { body: { email: 'z@mail.example', role_name: 'tenant_viewer' } }],
      ['GET', `${here.path}/invitations`, {}],
      ['DELETE', one, { body: {} }],
    ] as const) {
      expect((await live.call(here.lead.name, method, path, sending)).body.details).toMatchObject({ reason_code: 'permission_denied' })
      expect(await live.call('alice', method, path, sending)).toMatchObject({ status: 404, body: { code: 'organization_not_found' } })
    }
    // Another organization's owner does not reach it through his own.
    const other = await live.ask('alice', endOrganizationInvitation, {
      params: { org_id: seeded.org.aurora, invitation_id: body.invitation.id },
      body: {},
    })
    expect(other).toMatchObject({ status: 404, body: { code: 'invitation_not_found' } })
    expect(await rowOf(body.invitation.id)).toMatchObject({ ended_at: null })
  })

  test('RP-33 a member is not invited again, and an address is invited once', async () => {
    expect((await invite(here.owner, here.path, here.admin.email, 'tenant_viewer')).body.code).toBe('member_already_exists')
    expect((await invite(here.owner, here.path, 'x@mail.example', 'tenant_viewer')).status).toBe(201)
    expect((await invite(here.admin, here.path, 'X@MAIL.example', 'tenant_member')).body.code).toBe('invitation_already_exists')
    const many = await Promise.all(Array.from({ length: 10 }, () => invite(here.owner, here.path, 'race@mail.example', 'tenant_viewer')))
    expect(many.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)])
  })

  test('RP-33 it can be taken back, by whoever may invite', async () => {
    const who = await newcomer()
    const { body } = await invite(here.owner, here.path, who.email, 'tenant_viewer')
    expect(
      (
        await live.ask(here.admin.name, endOrganizationInvitation, {
          params: { org_id: here.org_id, invitation_id: body.invitation.id },
          body: { reason: 'changed my mind' },
        })
      ).status,
    ).toBe(204)
    expect(await rowOf(body.invitation.id)).toMatchObject({ ended_by: here.admin.id, end_reason: 'changed my mind' })
    expect(
      (
        await live.ask(here.admin.name, endOrganizationInvitation, {
          params: { org_id: here.org_id, invitation_id: body.invitation.id },
          body: {},
        })
      ).body.code,
    ).toBe('invitation_not_found')
    expect((await accept(who, body.invitation.id)).body).toMatchObject({ code: 'state_conflict', details: { state: 'ended' } })
    expect((await invite(here.owner, here.path, who.email, 'tenant_viewer')).status).toBe(201)
  })

  test('RP-33 how long it waits is the policy of the place, and after that it is over', async () => {
    const key = 'tenancy.invitation_ttl_seconds'
    await live.ask(here.owner.name, setOrganizationPolicyValue, { params: { org_id: here.org_id, key }, body: { value: 7200 } })
    const who = await newcomer()
    const { body } = await invite(here.owner, here.path, who.email, 'tenant_viewer')
    const { id, created_at, ends_at } = body.invitation
    expect(Date.parse(ends_at) - Date.parse(created_at)).toBe(7_200_000)
    await live.ask(here.owner.name, setProjectPolicyValue, { params: { project_id: here.project_id, key }, body: { value: 3600 } })
    await joinAs(here.owner, here.path, await newcomer(), 'tenant_viewer')
    await live.ask(here.lead.name, addProjectMember, {
      params: { project_id: here.project_id },
      body: { user_id: here.owner.id, role_name: 'project_admin' },
    })
    const inProject = (await invite(here.owner, here.within, 'x@mail.example', 'project_viewer')).body.invitation
    expect(Date.parse(inProject.ends_at) - Date.parse(inProject.created_at)).toBe(3_600_000)

    await live.sql(`update invitations set ends_at = now() where id = $1`, [id])
    expect((await accept(who, id)).body).toMatchObject({ code: 'state_conflict', details: { state: 'expired' } })
    expect((await live.ask(who.name, listMyInvitations)).body.items).toEqual([])
    expect((await live.ask(here.owner.name, listOrganizationInvitations, { params: { org_id: here.org_id } })).body.items).toEqual([])
    expect(await membershipsOf(who, here.org_id)).toEqual([])
    // It makes room for a new one.
    expect((await invite(here.owner, here.path, who.email, 'tenant_viewer')).status).toBe(201)
    expect(await rowOf(id)).toMatchObject({ end_reason: 'expired', ended_by: null })
  })

  test('RP-33 what is no bare address is refused', async () => {
    const hostile: [what: string, email: unknown][] = [
      ['no at', 'mail.example'],
      ['two', 'a@b@mail.example'],
      ['nothing before it', '@mail.example'],
      ['nothing after it', 'a@'],
      ['a blank inside', 'a b@mail.example'],
      ['a line break', 'a@mail.example\nbcc: b@mail.example'],
      ['NUL', 'a\u0000@mail.example'],
      ['a list', 'a@mail.example,b@mail.example'],
      ['a name with it', 'Ann <a@mail.example>'],
      ['brackets alone', '<a@mail.example>'],
      ['quotes', '"a@b"@mail.example'],
      ['what turns the direction', 'a\u202e@mail.example'],
      ['what has no width', 'a\u200b@mail.example'],
      ['a capital beyond ASCII', '\u0130da@mail.example'],
      ['half a character', 'a\ud800@mail.example'],
      ['too much', `${'a'.repeat(400)}@mail.example`],
      ['too much for any pattern', `${'a@'.repeat(50_000)}`],
      ['blanks only', '     '],
      ['a number', 7],
      ['a list of texts', ['a@mail.example']],
      ['an object', { toString: 'a@mail.example' }],
    ]
    for (const [what, email] of hostile) {
      const { status, body } = await invite(here.owner, here.path, email as string, 'tenant_viewer')
      expect([what, status, ['validation_error', 'invalid_request'].includes(body.code)]).toEqual([what, 400, true])
    }
    expect(await live.sql('select email from invitations where tenant_id = $1 and accepted_at is null', [here.org_id])).toEqual([])
  })

  test('RP-33 a role is named once, exists here and can be given', async () => {
    const post = (body: object) =>
      live.ask(here.owner.name, inviteToOrganization, { params: { org_id: here.org_id }, body: { email: 'x@mail.example', ...body } })
    const { body: role } = await live.ask(here.owner.name, createOrganizationRole, {
      params: { org_id: here.org_id },
      body: { name: 'short', permissions: ['tenant.read'] },
    })
    expect((await post({})).status).toBe(400)
    expect((await post({ role_name: 'short', role_id: role.id })).status).toBe(400)
    expect((await post({ role_name: 'project_viewer' })).body.code).toBe('role_not_found')
    expect((await post({ role_name: 'short', version: 2 })).body.code).toBe('role_not_found')
    await live.ask(here.owner.name, disableOrganizationRole, {
      params: { org_id: here.org_id, role_id: role.id },
      body: { mode: 'block_all_now', reason: 'r' },
    })
    expect((await post({ role_id: role.id })).body.code).toBe('role_not_assignable')
  })
})

describe('inviting into a project', () => {
  test('RP-33 a member of the organization is added at once', async () => {
    const id = word('added')
    const added = await live.ask(here.lead.name, inviteToProject, {
      params: { project_id: here.project_id },
      body: { email: here.admin.email.toUpperCase(), role_name: 'project_member' },
      headers: { 'x-request-id': id },
    })
    expect(added).toMatchObject({
      status: 201,
      body: { status: 'added', invitation: null, member: { user_id: here.admin.id, roles: ['project_member'] } },
    })
    expect(await live.auditOf(id)).toMatchObject([{ action: 'project.member.add', metadata: { user_id: here.admin.id } }])
    expect((await invite(here.lead, here.within, here.admin.email, 'project_viewer')).body.code).toBe('member_already_exists')
  })

  test('RP-21 whoever is none needs one who may invite into the organization too', async () => {
    const who = await newcomer()
    expect(await invite(here.lead, here.within, who.email, 'project_viewer')).toMatchObject({
      status: 409,
      body: { code: 'not_tenant_member' },
    })
    expect((await live.sql('select id from invitations where email = $1', [who.email])).length).toBe(0)
    await invite(here.lead, here.within, here.admin.email, 'project_admin')
    const offered = await invite(here.admin, here.within, who.email, 'project_member')
    expect(offered).toMatchObject({ status: 201, body: { status: 'pending', member: null, invitation: { project_name: 'Project' } } })
    expect((await live.ask(here.lead.name, listProjectInvitations, { params: { project_id: here.project_id } })).body.items).toHaveLength(1)
    // One of a project is not one of its organization.
    expect((await live.ask(here.owner.name, listOrganizationInvitations, { params: { org_id: here.org_id } })).body.items).toEqual([])
    const id = word('accept')
    expect((await accept(who, offered.body.invitation.id, { 'x-request-id': id })).status).toBe(200)
    expect(await rolesOf(who)).toContainEqual({
      id: here.org_id,
      roles: [],
      projects: [{ id: here.project_id, roles: ['project_member'] }],
    })
    expect(await live.auditOf(id)).toMatchObject([{ project_id: here.project_id, metadata: { joined: ['tenant', 'project'] } }])
    // A membership without a role opens nothing else.
    expect((await live.ask(who.name, listOrganizationMembers, { params: { org_id: here.org_id } })).body.details).toMatchObject({
      reason_code: 'permission_denied',
    })
  })

  test('E12 nobody offers a project role beyond his own authority, to a member or to a stranger', async () => {
    await invite(here.lead, here.within, here.admin.email, 'project_admin')
    for (const email of [here.owner.email, 'x@mail.example'])
      expect(await invite(here.admin, here.within, email, 'project_owner')).toMatchObject(ceiling)
  })

  test('RP-33 both invitations of a person can be accepted, in either order', async () => {
    for (const order of [
      ['project', 'tenant'],
      ['tenant', 'project'],
    ]) {
      const who = await newcomer()
      await invite(here.lead, here.within, here.owner.email, 'project_admin')
      const offers: Record<string, Answered> = {
        tenant: await invite(here.owner, here.path, who.email, 'tenant_viewer'),
        project: await invite(here.owner, here.within, who.email, 'project_viewer'),
      }
      for (const which of order) expect((await accept(who, offers[which]!.body.invitation.id)).status).toBe(200)
      expect(await rolesOf(who)).toContainEqual({
        id: here.org_id,
        roles: ['tenant_viewer'],
        projects: [{ id: here.project_id, roles: ['project_viewer'] }],
      })
    }
  })

  test('RP-33 a further role for somebody who is a member by now needs the key for assigning', async () => {
    const { body: role } = await live.ask(here.owner.name, createOrganizationRole, {
      params: { org_id: here.org_id },
      body: { name: 'greeter', permissions: ['tenant.user.invite', 'tenant.read'] },
    })
    const [greeter, who] = [await newcomer(), await newcomer()]
    await joinAs(here.owner, here.path, greeter, role.name)
    await invite(here.lead, here.within, greeter.email, 'project_admin')
    const toTenant = await invite(greeter, here.path, who.email, 'tenant_viewer')
    const toProject = await invite(greeter, here.within, who.email, 'project_viewer')
    expect((await accept(who, toProject.body.invitation.id)).status).toBe(200)
    expect(await accept(who, toTenant.body.invitation.id)).toMatchObject(ceiling)
    expect(await rolesOf(who)).toContainEqual(expect.objectContaining({ id: here.org_id, roles: [] }))
  })

  test('RP-33 who has the role already by another way keeps it, and the offer gives nothing', async () => {
    const who = await newcomer()
    await invite(here.lead, here.within, here.owner.email, 'project_admin')
    const toTenant = await invite(here.owner, here.path, who.email, 'tenant_viewer')
    const toProject = await invite(here.owner, here.within, who.email, 'project_viewer')
    await accept(who, toProject.body.invitation.id)
    await live.ask(here.owner.name, createOrganizationBinding, {
      params: { org_id: here.org_id },
      body: { principal_type: 'user', principal_id: who.id, role_name: 'tenant_viewer' },
    })
    expect((await accept(who, toTenant.body.invitation.id)).body.code).toBe('member_already_exists')
  })

  test('RP-33 an address that two providers vouch for is not guessed at', async () => {
    const email = `${word('shared')}@mail.example`
    const [one, other] = [await newcomer({ email }), await newcomer({ email: email.toUpperCase() })]
    await live.sql(`update users set oidc_issuer = 'https://another.example' where id = $1`, [other.id])
    for (const who of [one, other]) {
      await live.sql(`insert into tenant_memberships (id, tenant_id, user_id, created_at) values (gen_random_uuid(), $1, $2, now())`, [
        here.org_id,
        who.id,
      ])
    }
    expect((await invite(here.lead, here.within, email, 'project_viewer')).body).toMatchObject({
      code: 'state_conflict',
      details: { state: 'ambiguous' },
    })
  })
})
