import { setTimeout as sleep } from 'node:timers/promises'
import { createOrganizationConstraint, deleteOrganizationConstraint } from '@gatehouse/contract/constraints'
import {
  acceptInvitation,
  endOrganizationInvitation,
  inviteToOrganization,
  inviteToProject,
  listMyInvitations,
} from '@gatehouse/contract/invitations'
import { removeOrganizationMember, removeProjectMember } from '@gatehouse/contract/members'
import { resumeOrganization, suspendOrganization } from '@gatehouse/contract/organizations'
import { readProject } from '@gatehouse/contract/projects'
import { createOrganizationBinding, endOrganizationBinding, listOrganizationBindings } from '@gatehouse/contract/role-bindings'
import {
  createOrganizationRole,
  deleteOrganizationRole,
  disableOrganizationRole,
  enableOrganizationRole,
  updateOrganizationRole,
} from '@gatehouse/contract/roles'
import { disableUser, enableUser, readMe } from '@gatehouse/contract/users'
import { beforeEach, describe, expect, test } from 'vitest'
import { ceiling, type InvitationWorld, invitationsOn, word } from '../../../../test/invitation-scene.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { signText } from '../principals/oidc/testing/local-issuer.ts'

const live = serverFixture({ policies: noRateLimits })
const { accept, invite, joinAs, membershipsOf, newcomer, rolesOf, rowOf, world } = invitationsOn(live)

const { user } = seeded
const unknown = '01890000-0000-7000-8000-000000000000'

let here: InvitationWorld
beforeEach(async () => {
  here = await world()
})

describe('accepting', () => {
  const bytesOf = ({ status, text, headers }: Answered) =>
    JSON.stringify([status, text, [...headers].filter(([name]) => name !== 'date' && !name.startsWith('ratelimit'))])

  test('E12 to everybody but the invited person it does not exist, byte for byte', async () => {
    const who = await newcomer()
    const { body } = await invite(here.owner, here.path, who.email, 'tenant_owner')
    const { id } = body.invitation
    const unverified = await newcomer({ email: who.email, email_verified: false })
    const claimed = await newcomer({ email: who.email, email_verified: 'true' })
    const alike = await newcomer({ email: `\u212a${who.email}` })
    for (const stranger of [unverified.name, claimed.name, alike.name, here.owner.name, here.admin.name, 'alice', 'ada', 'otto']) {
      const headers = { 'x-request-id': word('same') }
      const one = await accept(stranger, id, headers)
      const none = await accept(stranger, unknown, headers)
      expect(one).toMatchObject({ status: 404, body: { code: 'invitation_not_found' } })
      expect(bytesOf(one)).toBe(bytesOf(none))
      expect(await live.auditOf(headers['x-request-id'])).toMatchObject([
        { action: 'invitation.accept', result: 'denied', tenant_id: null },
        { action: 'invitation.accept', result: 'denied', tenant_id: null },
      ])
      expect((await live.ask(stranger, listMyInvitations)).body.items).toEqual([])
    }
    expect((await accept(who, id)).status).toBe(200)
  })

  test('RP-33 capitals of ASCII do not matter, letters that look alike do', async () => {
    const name = word('case')
    const { body } = await invite(here.owner, here.path, `${name}.kate@mail.example`, 'tenant_viewer')
    const kelvin = await newcomer({ email: `${name}.\u212aate@mail.example` })
    expect((await accept(kelvin, body.invitation.id)).status).toBe(404)
    const capitals = await newcomer({ email: `${name}.KATE@Mail.Example` })
    expect((await accept(capitals, body.invitation.id)).status).toBe(200)
  })

  test('DE-21 a disabled person is told that he is disabled, and into a suspended organization nobody comes', async () => {
    const who = await newcomer()
    const { body } = await invite(here.owner, here.path, who.email, 'tenant_viewer')
    await live.ask('ada', disableUser, { params: { user_id: who.id }, body: { reason: 'r' } })
    for (const id of [body.invitation.id, unknown])
      expect((await accept(who, id)).body.details).toMatchObject({ reason_code: 'actor_disabled' })
    await live.ask('ada', enableUser, { params: { user_id: who.id }, body: { reason: 'r' } })
    await live.ask('ada', suspendOrganization, { params: { org_id: here.org_id }, body: { reason: 'unpaid' } })
    expect(await accept(who, body.invitation!.id)).toMatchObject({
      status: 403,
      body: { details: { reason_code: 'policy_constraint_denied' } },
    })
    await live.ask('ada', resumeOrganization, { params: { org_id: here.org_id }, body: { reason: 'paid' } })
    expect((await accept(who, body.invitation!.id)).status).toBe(200)
  })

  const losses: [what: string, lose: (w: InvitationWorld) => Promise<Answered>][] = [
    [
      'has a lesser role now',
      async ({ owner, admin, org_id }) => {
        const { body } = await live.ask(owner.name, listOrganizationBindings, { params: { org_id } })
        const { id } = body.items.find(({ principal_id }) => principal_id === admin.id)!
        await live.ask(owner.name, createOrganizationBinding, {
          params: { org_id },
          body: { principal_type: 'user', principal_id: admin.id, role_name: 'tenant_viewer' },
        })
        return live.ask(owner.name, endOrganizationBinding, { params: { org_id, binding_id: id }, body: {} })
      },
    ],
    ['is disabled', ({ admin }) => live.ask('ada', disableUser, { params: { user_id: admin.id }, body: { reason: 'gone' } })],
    [
      'may still invite, but not as this any more',
      async ({ owner, admin, org_id }) => {
        const { body: role } = await live.ask(owner.name, createOrganizationRole, {
          params: { org_id },
          body: { name: 'greeter', permissions: ['tenant.user.invite'] },
        })
        await live.ask(owner.name, createOrganizationBinding, {
          params: { org_id },
          body: { principal_type: 'user', principal_id: admin.id, role_id: role.id },
        })
        const { body } = await live.ask(owner.name, listOrganizationBindings, { params: { org_id } })
        const { id } = body.items.find(({ principal_id, role_name }) => principal_id === admin.id && role_name === 'tenant_admin')!
        return live.ask(owner.name, endOrganizationBinding, { params: { org_id, binding_id: id }, body: {} })
      },
    ],
  ]
  test.each(losses)('E12 it is refused and ends where the inviter %s', async (_, lose) => {
    const who = await newcomer()
    const { body } = await invite(here.admin, here.path, who.email, 'tenant_member')
    expect((await lose(here)).status).toBeLessThan(300)
    const id = word('lost')
    const refused = await accept(who, body.invitation!.id, { 'x-request-id': id })
    expect(refused).toMatchObject(ceiling)
    // Why the inviter may not is his affair and the organization's.
    expect(refused.body.details).toMatchObject({ reason_code: 'permission_denied', detail: 'assignment_ceiling' })
    expect(await membershipsOf(who, here.org_id)).toEqual([])
    expect(await rowOf(body.invitation.id)).toMatchObject({ end_reason: 'inviter_lost_authority', ended_by: null, accepted_at: null })
    const rows = await live.auditOf(id)
    expect(rows).toHaveLength(2)
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'invitation.accept', result: 'denied', tenant_id: null, actor_id: who.id }),
        expect.objectContaining({ action: 'invitation.end', result: 'success', tenant_id: here.org_id, severity: 'warning' }),
      ]),
    )
    // For ever, whatever the inviter becomes again.
    await live.ask('ada', enableUser, { params: { user_id: here.admin.id }, body: { reason: 'back' } })
    await live.ask(here.owner.name, createOrganizationBinding, {
      params: { org_id: here.org_id },
      body: { principal_type: 'user', principal_id: here.admin.id, role_name: 'tenant_admin' },
    })
    expect((await accept(who, body.invitation!.id)).body).toMatchObject({ code: 'state_conflict', details: { state: 'ended' } })
  })

  test('E12 a project invitation ends where the inviter may not open the organization any more', async () => {
    const who = await newcomer()
    await invite(here.lead, here.within, here.admin.email, 'project_admin')
    const { body } = await invite(here.admin, here.within, who.email, 'project_viewer')
    const { body: bindings } = await live.ask(here.owner.name, listOrganizationBindings, { params: { org_id: here.org_id } })
    const { id } = bindings.items.find(({ principal_id }) => principal_id === here.admin.id)!
    expect(
      (await live.ask(here.owner.name, endOrganizationBinding, { params: { org_id: here.org_id, binding_id: id }, body: {} })).status,
    ).toBe(204)
    expect(await accept(who, body.invitation!.id)).toMatchObject(ceiling)
    expect(await membershipsOf(who, here.org_id)).toEqual([])
    expect(await rowOf(body.invitation.id)).toMatchObject({ end_reason: 'inviter_lost_authority' })
  })

  test('RP-33 a rule that stops inviting stops accepting too, and the invitation waits', async () => {
    const who = await newcomer()
    const { body } = await invite(here.owner, here.path, who.email, 'tenant_viewer')
    const { body: rule } = await live.ask(here.owner.name, createOrganizationConstraint, {
      params: { org_id: here.org_id },
      body: { key: 'closed', actions: ['tenant.user.invite', 'tenant.role.assign'], condition: {} },
    })
    expect(await accept(who, body.invitation!.id)).toMatchObject({
      status: 403,
      body: { details: { reason_code: 'policy_constraint_denied' } },
    })
    expect(await rowOf(body.invitation.id)).toMatchObject({ ended_at: null })
    const ended = await live.ask(here.owner.name, deleteOrganizationConstraint, {
      params: { org_id: here.org_id, constraint_id: rule.id },
      body: { reason: 'open' },
    })
    expect(ended.status).toBe(204)
    expect((await accept(who, body.invitation!.id)).status).toBe(200)
  })

  test('RP-33 invitation.accept: role disabled meanwhile → it waits; role deleted → the invitation has ended, recorded', async () => {
    const { body: role } = await live.ask(here.owner.name, createOrganizationRole, {
      params: { org_id: here.org_id },
      body: { name: 'brief', permissions: ['tenant.read'] },
    })
    const who = await newcomer()
    const { body } = await invite(here.owner, here.path, who.email, 'brief')
    await live.ask(here.owner.name, disableOrganizationRole, {
      params: { org_id: here.org_id, role_id: role.id },
      body: { mode: 'block_all_now', reason: 'r' },
    })
    expect((await accept(who, body.invitation!.id)).body).toMatchObject({ code: 'role_not_assignable', details: { state: 'disabled' } })
    await live.ask(here.owner.name, enableOrganizationRole, { params: { org_id: here.org_id, role_id: role.id }, body: { reason: 'r' } })
    // The version is the one that was offered.
    await live.ask(here.owner.name, updateOrganizationRole, {
      params: { org_id: here.org_id, role_id: role.id },
      body: { permissions: ['tenant.user.read'], expected_version: 1, reason: 'r' },
    })
    const other = await newcomer()
    const offered = await invite(here.owner, here.path, other.email, 'brief')
    expect((await accept(who, body.invitation!.id)).body).toMatchObject({ state: 'accepted', version: 1 })
    expect(
      (await live.ask(here.owner.name, listOrganizationBindings, { params: { org_id: here.org_id } })).body.items.find(
        ({ principal_id }: { principal_id: string }) => principal_id === who.id,
      ),
    ).toMatchObject({ role_name: 'brief', version: 1 })
    const headers = { 'x-request-id': word('gone') }
    const deleting = { params: { org_id: here.org_id, role_id: role.id }, body: { reason: 'r' }, headers }
    expect((await live.ask(here.owner.name, deleteOrganizationRole, deleting)).status).toBe(204)
    expect(await rowOf(offered.body.invitation!.id)).toMatchObject({
      end_reason: 'role_deleted',
      ended_by: here.owner.id,
      accepted_at: null,
    })
    expect(await live.auditOf(headers['x-request-id'])).toMatchObject([
      { action: 'role.delete' },
      { action: 'invitation.end_with_role', tenant_id: here.org_id, metadata: { invitation_ids: [offered.body.invitation!.id] } },
    ])
    expect((await accept(other, offered.body.invitation!.id)).body).toMatchObject({ code: 'state_conflict', details: { state: 'ended' } })
    // It makes room for another offer to the same address.
    expect((await invite(here.owner, here.path, other.email, 'tenant_viewer')).status).toBe(201)
  })

  test('RP-29 override offers nothing to its own user, and what it offers others stands out', async () => {
    const refused = { status: 403, body: { details: { detail: 'override_self_grant' } } }
    expect(await invite('ada', here.path, 'ADA@gatehouse.example', 'tenant_viewer')).toMatchObject(refused)
    expect(await invite('ada', here.within, 'ada@gatehouse.example', 'project_viewer')).toMatchObject(refused)
    const who = await newcomer()
    const id = word('override')
    const { body } = await live.ask('ada', inviteToProject, {
      params: { project_id: here.project_id },
      body: { email: who.email, role_name: 'project_owner' },
      headers: { 'x-request-id': id },
    })
    expect(await live.auditOf(id)).toMatchObject([{ tenant_id: here.org_id, severity: 'high' }])
    const accepted = word('override')
    expect((await accept(who, body.invitation!.id, { 'x-request-id': accepted })).status).toBe(200)
    expect(await live.auditOf(accepted)).toMatchObject([{ tenant_id: here.org_id, severity: 'high', actor_id: who.id }])
    // Nor by a detour: an address that became the inviter's own later.
    const detour = await invite('grace', here.path, `${word('detour')}@mail.example`, 'tenant_owner')
    await live.sql('update users set email = $2 where id = $1', [user('grace'), detour.body.invitation.email])
    expect(await accept('grace', detour.body.invitation.id)).toMatchObject(ceiling)
    expect(await live.sql('select id from tenant_memberships where user_id = $1 and tenant_id = $2', [user('grace'), here.org_id])).toEqual(
      [],
    )
    await live.sql('update users set email = $2 where id = $1', [user('grace'), 'grace@gatehouse.example'])
  })
})

describe('leaving', () => {
  test('RP-21 E13 who leaves an organization takes his offers with him, and those that were made to him', async () => {
    const [one, two] = [await newcomer(), await newcomer()]
    await invite(here.lead, here.within, here.admin.email, 'project_admin')
    const offers = [
      await invite(here.admin, here.path, one.email, 'tenant_viewer'),
      await invite(here.admin, here.within, two.email, 'project_viewer'),
    ]
    const kept = await invite(here.owner, here.path, 'kept@mail.example', 'tenant_viewer')
    const id = word('leave')
    const left = await live.ask(here.owner.name, removeOrganizationMember, {
      params: { org_id: here.org_id, user_id: here.admin.id },
      body: { reason: 'moved on' },
      headers: { 'x-request-id': id },
    })
    expect(left.status).toBe(204)
    const ids = offers.map(({ body }) => body.invitation.id)
    for (const each of ids) expect(await rowOf(each)).toMatchObject({ end_reason: 'moved on', ended_by: here.owner.id })
    expect((await accept(one, ids[0])).body.details).toEqual({ state: 'ended' })
    expect(await rowOf(kept.body.invitation.id)).toMatchObject({ ended_at: null })
    const rows = await live.auditOf(id)
    expect(rows.find(({ action }) => action === 'invitation.end_with_membership')).toMatchObject({
      tenant_id: here.org_id,
      metadata: { user_id: here.admin.id, count: 2 },
    })
    // In one transaction: all of it has one instant.
    const [instants] = await live.sql(
      `select count(distinct at)::int as n from (
         select ended_at as at from invitations where id = any($1) union all
         select deleted_at from tenant_memberships where user_id = $2 and tenant_id = $3) t`,
      [ids, here.admin.id, here.org_id],
    )
    expect(instants).toEqual({ n: 1 })
  })

  test('RP-21 who leaves a project ends what he offered there, and nothing else', async () => {
    const who = await newcomer()
    await invite(here.lead, here.within, here.admin.email, 'project_admin')
    const toTenant = await invite(here.admin, here.path, who.email, 'tenant_viewer')
    const toProject = await invite(here.admin, here.within, who.email, 'project_viewer')
    expect(
      (await live.ask(here.admin.name, removeProjectMember, { params: { project_id: here.project_id, user_id: here.admin.id }, body: {} }))
        .status,
    ).toBe(204)
    expect(await rowOf(toProject.body.invitation.id)).toMatchObject({ end_reason: 'left' })
    expect(await rowOf(toTenant.body.invitation.id)).toMatchObject({ ended_at: null })
  })

  test('RP-21 E13 an offer to the person who leaves does not bring him back', async () => {
    const who = await newcomer()
    await invite(here.lead, here.within, here.owner.email, 'project_admin')
    const toProject = await invite(here.owner, here.within, who.email, 'project_viewer')
    await joinAs(here.owner, here.path, who, 'tenant_viewer')
    await live.ask(who.name, removeOrganizationMember, { params: { org_id: here.org_id, user_id: who.id }, body: {} })
    expect((await accept(who, toProject.body.invitation.id)).body.details).toEqual({ state: 'ended' })
    expect(await membershipsOf(who, here.org_id)).toEqual([])
  })

  test('E13 being invited again restores nothing of what one had', async () => {
    const who = await newcomer()
    await joinAs(here.owner, here.path, who, 'tenant_admin')
    await invite(here.lead, here.within, who.email, 'project_admin')
    await live.ask(here.owner.name, removeOrganizationMember, { params: { org_id: here.org_id, user_id: who.id }, body: {} })
    await joinAs(here.owner, here.path, who, 'tenant_viewer')
    expect(await rolesOf(who)).toContainEqual({ id: here.org_id, roles: ['tenant_viewer'], projects: [] })
    expect((await live.ask(who.name, readProject, { params: { project_id: here.project_id } })).status).toBe(403)
  })
})

describe('at the same time', () => {
  test('RP-33 fifty who accept at once are one member', async () => {
    const who = await newcomer()
    const { body } = await invite(here.owner, here.path, who.email, 'tenant_viewer')
    const second = await live.replica()
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, n) =>
        live.ask(who.name, acceptInvitation, { body: { invitation_id: body.invitation.id }, base: n % 2 === 0 ? live.url : second.url }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status, body: said } of answers.filter((each) => each.status !== 200))
      expect([status, said.details]).toEqual([409, { state: 'accepted' }])
    expect(await membershipsOf(who, here.org_id)).toHaveLength(1)
    expect(
      await live.sql('select id from tenant_role_bindings where principal_id = $1 and tenant_id = $2', [who.id, here.org_id]),
    ).toHaveLength(1)
    expect(
      await live.sql(`select id from audit_logs where action = 'invitation.accept' and result = 'success' and resource_id = $1`, [
        body.invitation.id,
      ]),
    ).toHaveLength(1)
  })

  test('E12 an inviter who is removed while somebody accepts: either came first, and nothing is in between', async () => {
    for (let round = 0; round < 12; round += 1) {
      const [inviter, who] = [await newcomer(), await newcomer()]
      await joinAs(here.owner, here.path, inviter, 'tenant_admin')
      const { body } = await invite(inviter, here.path, who.email, 'tenant_viewer')
      const [accepted, removed] = await Promise.all([
        sleep(round % 3).then(() => accept(who, body.invitation!.id)),
        sleep((round * 2) % 5).then(() =>
          live.ask(here.owner.name, removeOrganizationMember, {
            params: { org_id: here.org_id, user_id: inviter.id },
            body: { reason: 'gone' },
          }),
        ),
      ])
      expect(removed.status).toBe(204)
      const row = await rowOf(body.invitation.id)
      if (accepted.status === 200) {
        expect(row).toMatchObject({ accepted_by: who.id, ended_at: null })
        expect(await membershipsOf(who, here.org_id)).toHaveLength(1)
      } else {
        expect([accepted.status, accepted.body.details]).toEqual([409, { state: 'ended' }])
        expect(row).toMatchObject({ accepted_at: null, end_reason: 'gone' })
        expect(await membershipsOf(who, here.org_id)).toEqual([])
      }
    }
  })

  test('E12 taken back and accepted at once: one of the two', async () => {
    for (let round = 0; round < 12; round += 1) {
      const who = await newcomer()
      const { body } = await invite(here.owner, here.path, who.email, 'tenant_viewer')
      const [accepted, ended] = await Promise.all([
        accept(who, body.invitation!.id),
        live.ask(here.admin.name, endOrganizationInvitation, {
          params: { org_id: here.org_id, invitation_id: body.invitation.id },
          body: {},
        }),
      ])
      expect([
        [200, 404],
        [409, 204],
      ]).toContainEqual([accepted.status, ended.status])
      expect(await membershipsOf(who, here.org_id)).toHaveLength(accepted.status === 200 ? 1 : 0)
    }
  })

  test('RP-33 asked again with the same key, the first answer is given again', async () => {
    const who = await newcomer()
    const offered = await live.ask(here.owner.name, inviteToOrganization, {
      params: { org_id: here.org_id },
      body: { email: who.email, role_name: 'tenant_viewer' },
      headers: { 'idempotency-key': word('key') },
    })
    const headers = { 'idempotency-key': word('key') }
    const first = await accept(who, offered.body.invitation!.id, headers)
    expect(await accept(who, offered.body.invitation!.id, headers)).toMatchObject({ status: 200, body: first.body })
  })
})

test('RP-33 E15 an invitation is for whoever has the address now, not for who once had it', async () => {
  const here = await world()
  // Each token is a second younger than the one before: of two of one second neither would count.
  let issued_at = Math.floor(Date.now() / 1000) - 60
  const signIn = async (name: string, claims: object) => {
    issued_at += 1
    const token = await signText(
      live.issuer.key,
      JSON.stringify(live.issuer.claims(issued_at, { sub: name, preferred_username: name, ...claims })),
    )
    return { headers: { authorization: `Bearer ${token}` } }
  }
  const [old, later] = [word('old'), word('later')]
  const email = `${old}@mail.example`
  await live.ask(null, readMe, { ...(await signIn(old, { email, email_verified: true })) })
  await live.ask(null, readMe, { ...(await signIn(later, { email, email_verified: false })) })
  const moved = await signIn(old, { email: `${old}@elsewhere.example`, email_verified: true })
  expect((await live.ask(null, readMe, { ...moved })).body.email).toBe(`${old}@elsewhere.example`)
  const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
  const accept = { body: { invitation_id: invited } }
  expect((await live.ask(null, acceptInvitation, { ...accept, ...moved })).body.code).toBe('invitation_not_found')
  // And who verifies it after his first sign-in can accept.
  const verified = await signIn(later, { email, email_verified: true })
  expect((await live.ask(null, acceptInvitation, { ...accept, ...verified })).status).toBe(200)
  expect(await live.sql(`select count(*)::int as n from audit_logs where action = 'user.address'`)).toEqual([{ n: 2 }])
})

describe('the former holder of an address', () => {
  const said = async (name: string, issued_at: number, email: string, email_verified = true) => {
    const claims = live.issuer.claims(issued_at, { sub: name, preferred_username: name, email, email_verified, exp: issued_at + 3600 })
    return { headers: { authorization: `Bearer ${await signText(live.issuer.key, JSON.stringify(claims))}` } }
  }
  const now = Math.floor(Date.now() / 1000)

  test('RP-33 I2 I8 invitation.accept: older token on another process, and after a restart → 404, the new holder accepts', async () => {
    const here = await world()
    const [former, holder] = [word('former'), word('holder')]
    const email = `${former}@mail.example`
    const older = await said(former, now - 90, email)
    const newer = await said(former, now - 60, `${former}@elsewhere.example`)
    const holders = await said(holder, now - 30, email)
    const elsewhere = await live.replica()
    await live.ask(null, readMe, { ...older })
    await live.ask(null, readMe, { ...older, base: elsewhere.url })
    expect((await live.ask(null, readMe, { ...newer })).body.email).toBe(`${former}@elsewhere.example`)
    await live.ask(null, readMe, { ...holders })
    const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
    // A process that has never seen either of them knows as much as one that was started again.
    const restarted = await live.replica()
    for (const base of [live.url, elsewhere.url, restarted.url]) {
      const refused = await live.ask(null, acceptInvitation, { body: { invitation_id: invited }, ...older, base })
      expect([refused.status, refused.body.code]).toEqual([404, 'invitation_not_found'])
      expect((await live.ask(null, readMe, { ...older, base })).body.email).toBe(`${former}@elsewhere.example`)
    }
    expect((await live.ask(null, acceptInvitation, { body: { invitation_id: invited }, ...holders, base: restarted.url })).status).toBe(200)
  })

  test('RP-33 I2 invitation.accept: the former holder shows no newer token → 404 once a newer one of the same issuer names somebody else', async () => {
    const [former, holder] = [word('former'), word('holder')]
    const email = `${former}@mail.example`
    const [older, between] = [await said(former, now - 90, email), await said(former, now - 60, email.toUpperCase())]
    const holders = await said(holder, now - 30, email)
    await live.ask(null, readMe, { ...older })
    const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
    const offered = async (token: typeof older) => (await live.ask(null, listMyInvitations, { ...token })).body.items.map(({ id }) => id)
    expect(await offered(older)).toEqual([invited])
    await live.ask(null, readMe, { ...holders })
    for (const token of [older, between]) {
      const refused = await live.ask(null, acceptInvitation, { body: { invitation_id: invited }, ...token })
      expect([refused.status, refused.body.code]).toEqual([404, 'invitation_not_found'])
      expect(await offered(token)).toEqual([])
    }
    expect((await live.ask(null, acceptInvitation, { body: { invitation_id: invited }, ...holders })).status).toBe(200)
  })

  test('RP-33 I2 invitation: the former holder is a member → the new one is invited, neither added nor ended with the former', async () => {
    const [former, holder] = [word('former'), word('holder')]
    const email = `${former}@mail.example`
    const older = await said(former, now - 90, email)
    const { id: user_id } = (await live.ask(null, readMe, { ...older })).body
    const joined = (await invite(here.owner, here.path, email, 'tenant_viewer')).body.invitation.id
    expect((await live.ask(null, acceptInvitation, { body: { invitation_id: joined }, ...older })).status).toBe(200)
    const holders = await said(holder, now - 30, email)
    await live.ask(null, readMe, { ...holders })
    // Into a project a member is added at once: not who is a member and had the address once.
    expect((await invite(here.lead, here.within, email, 'project_viewer')).body.code).toBe('not_tenant_member')
    expect((await invite(here.owner, here.path, email, 'tenant_viewer')).body).toMatchObject({ status: 'pending' })
    const params = { org_id: here.org_id, user_id }
    expect((await live.ask(here.owner.name, removeOrganizationMember, { params, body: {} })).status).toBe(204)
    expect((await live.ask(null, listMyInvitations, { ...holders })).body.items).toHaveLength(1)
  })

  const acceptedBy = async (invitation_id: string, token: { headers: { authorization: string } }) =>
    (await live.ask(null, acceptInvitation, { body: { invitation_id }, ...token })).status
  const silent = async (name: string, issued_at: number) => {
    const claims = live.issuer.claims(issued_at, { sub: name, preferred_username: name, exp: issued_at + 3600 })
    return { headers: { authorization: `Bearer ${await signText(live.issuer.key, JSON.stringify(claims))}` } }
  }

  test('RP-33 I2 invitation.accept: the former holder shows no later address, or none at all → 404, the new holder accepts', async () => {
    const here = await world()
    const [former, holder] = [word('former'), word('holder')]
    const email = `${former}@mail.example`
    const older = await said(former, now - 90, email)
    await live.ask(null, readMe, { ...older })
    const holders = await said(holder, now - 30, email.toUpperCase())
    await live.ask(null, readMe, { ...holders })
    const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
    for (const token of [older, await silent(former, now - 10), await silent(former, now - 100)])
      expect(await acceptedBy(invited, token)).toBe(404)
    expect(await acceptedBy(invited, holders)).toBe(200)
  })

  test('RP-33 I2 invitation.accept: the former holder signs in for the first time after the new one, with an older token → 404', async () => {
    const here = await world()
    const [former, holder] = [word('former'), word('holder')]
    const email = `${former}@mail.example`
    const holders = await said(holder, now - 30, email)
    await live.ask(null, readMe, { ...holders })
    const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
    const older = await said(former, now - 90, email)
    expect(await acceptedBy(invited, older)).toBe(404)
    // The same by somebody who is known here already.
    const known = word('known')
    await live.ask(null, readMe, { ...(await silent(known, now - 100)) })
    expect(await acceptedBy(invited, await said(known, now - 80, email))).toBe(404)
    expect(await acceptedBy(invited, holders)).toBe(200)
  })

  test.for([
    ['goes on to another address', 'another@mail.example', true],
    ['is not vouched for any more', null, false],
  ] as const)(
    'RP-33 I2 invitation.accept: who holds the address now %s → its former holder does not get it back',
    async ([, next, verified]) => {
      const here = await world()
      const [former, holder] = [word('former'), word('holder')]
      const email = `${former}@mail.example`
      const older = await said(former, now - 90, email)
      await live.ask(null, readMe, { ...older })
      await live.ask(null, readMe, { ...(await said(holder, now - 60, email.toUpperCase())) })
      await live.ask(null, readMe, { ...(await said(holder, now - 30, next === null ? email : `${holder}-${next}`, verified)) })
      const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
      // With the token that was known, with one from before it was given to somebody else, and with one that names no address.
      for (const token of [older, await said(former, now - 70, email), await silent(former, now - 10)])
        expect(await acceptedBy(invited, token)).toBe(404)
      expect(await acceptedBy(invited, await said(former, now - 10, email))).toBe(200)
    },
  )

  test('RP-33 I2 invitation.accept: tokens of one second give the address to two people → neither accepts, until a later one says whose it is', async () => {
    const here = await world()
    const [one, other] = [word('one'), word('other')]
    const email = `${one}@mail.example`
    const both = [await said(one, now - 60, email), await said(other, now - 60, email)]
    for (const token of both) await live.ask(null, readMe, { ...token })
    const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
    for (const token of both) expect(await acceptedBy(invited, token)).toBe(404)
    expect(await acceptedBy(invited, await said(other, now - 30, email))).toBe(200)
  })

  test('RP-33 invitation.accept: ten first requests of one person at once → the address is theirs', async () => {
    const here = await world()
    const name = word('first')
    const email = `${name}@mail.example`
    const token = await said(name, now - 30, email)
    await Promise.all(Array.from({ length: 10 }, () => live.ask(null, readMe, { ...token })))
    const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
    expect(await acceptedBy(invited, token)).toBe(200)
  })

  test('RP-33 invitation.accept: the address comes back to its former holder → a later token of theirs accepts, and an earlier one of the other does not', async () => {
    const here = await world()
    const [one, other] = [word('one'), word('other')]
    const email = `${one}@mail.example`
    await live.ask(null, readMe, { ...(await said(one, now - 90, email)) })
    const between = await said(other, now - 60, email)
    await live.ask(null, readMe, { ...between })
    const back = await said(one, now - 30, email)
    await live.ask(null, readMe, { ...back })
    const invited = (await invite(here.owner, here.path, email, 'tenant_member')).body.invitation.id
    expect(await acceptedBy(invited, between)).toBe(404)
    expect(await acceptedBy(invited, back)).toBe(200)
  })

  test('RP-33 I2 sign-in: a token that confirmed the address → one issued before it moves nothing, on any process', async () => {
    const name = word('confirmed')
    const [first, between, last] = [
      await said(name, now - 90, `${name}@mail.example`),
      await said(name, now - 60, `${name}@lost.example`),
      await said(name, now - 30, `${name}@mail.example`),
    ]
    const elsewhere = await live.replica()
    const emailBy = async (token: typeof first, base = live.url) => (await live.ask(null, readMe, { ...token, base })).body.email
    expect(await emailBy(first)).toBe(`${name}@mail.example`)
    expect(await emailBy(last)).toBe(`${name}@mail.example`)
    for (const base of [elsewhere.url, live.url]) expect(await emailBy(between, base)).toBe(`${name}@mail.example`)
    expect(
      await live.sql(
        `select count(*)::int as n from audit_logs a join users u on u.id::text = a.resource_id::text
      where a.action = 'user.address' and u.username = $1`,
        [name],
      ),
    ).toEqual([{ n: 0 }])
  })

  test('RP-33 I1 sign-in: two tokens of one second that disagree → the address is not verified until a later one says so', async () => {
    const name = word('tied')
    const [one, other, later] = [
      await said(name, now - 60, `${name}@mail.example`),
      await said(name, now - 60, `${name}@elsewhere.example`),
      await said(name, now - 30, `${name}@elsewhere.example`),
    ]
    const row = async () => (await live.sql('select email, email_verified from users where username = $1', [name]))[0]
    await live.ask(null, readMe, { ...one })
    for (const token of [other, one, other]) {
      await live.ask(null, readMe, { ...token })
      expect(await row()).toEqual({ email: `${name}@mail.example`, email_verified: false })
    }
    await live.ask(null, readMe, { ...later })
    expect(await row()).toEqual({ email: `${name}@elsewhere.example`, email_verified: true })
  })

  test('RP-33 sign-in: newer and older token at once on two processes → the newer one counts', async () => {
    const elsewhere = await live.replica()
    for (let round = 0; round < 5; round += 1) {
      const name = word('raced')
      const [first, older, newer] = [
        await said(name, now - 90, `${name}@first.example`),
        await said(name, now - 60, `${name}@older.example`),
        await said(name, now - 30, `${name}@newer.example`),
      ]
      await live.ask(null, readMe, { ...first })
      await Promise.all([live.ask(null, readMe, { ...newer }), live.ask(null, readMe, { ...older, base: elsewhere.url })])
      expect(await live.sql('select email from users where username = $1', [name])).toEqual([{ email: `${name}@newer.example` }])
    }
  })
})
