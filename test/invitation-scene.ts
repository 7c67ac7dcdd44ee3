import { acceptInvitation } from '../contract/src/invitations.ts'
import { createOrganization } from '../contract/src/organizations.ts'
import { createProject } from '../contract/src/projects.ts'
import { readMe } from '../contract/src/users.ts'
import { signText } from '../server/src/people/principals/oidc/testing/local-issuer.ts'
import type { LiveServer } from './live-server.ts'

let made = 0
export const word = (prefix: string) => `${prefix}-${++made}`

interface Newcomer {
  readonly name: string
  readonly id: string
  readonly email: string
}
export const ceiling = { status: 403, body: { code: 'insufficient_permissions', details: { detail: 'assignment_ceiling' } } }

/** Steps that tests of invitations share. */
export const invitationsOn = (live: LiveServer) => {
  /** Somebody new. Their identity provider vouches for their address, unless it is told not to. */
  const newcomer = async (given: { email?: string; email_verified?: unknown } = {}): Promise<Newcomer> => {
    const name = word('new')
    const { email = `${name}@mail.example`, email_verified = true } = given
    const now = Math.floor(Date.now() / 1000)
    const claims = live.issuer.claims(now, { sub: name, preferred_username: name, email, email_verified })
    const token = await signText(live.issuer.key, JSON.stringify(claims))
    const { body } = await live.ask(null, readMe, { headers: { authorization: `Bearer ${token}` } })
    return { name, id: body.id, email }
  }

  /** An organization with an owner, an admin and a project, for one test alone. */
  const world = async () => {
    const [owner, admin, lead] = [await newcomer(), await newcomer(), await newcomer()]
    const { body: org } = await live.ask('ada', createOrganization, {
      body: { name: 'World', slug: word('world'), owner_user_id: owner.id },
    })
    const path = `/api/v1/orgs/${org.id}`
    await joinAs(owner, path, admin, 'tenant_admin')
    await joinAs(owner, path, lead, 'tenant_member')
    const { body: project } = await live.ask(owner.name, createProject, {
      params: { org_id: org.id },
      body: { name: 'Project', slug: 'project', owner_user_id: lead.id },
    })
    return {
      org_id: org.id as string,
      project_id: project.id as string,
      path,
      within: `/api/v1/projects/${project.id}`,
      owner,
      admin,
      lead,
    }
  }

  const invite = (by: Newcomer | string, path: string, email: string, role_name: string, more: object = {}) =>
    live.call(typeof by === 'string' ? by : by.name, 'POST', `${path}/invitations`, { body: { email, role_name, ...more } })
  const accept = (who: Newcomer | string, invitation_id: string, headers: Record<string, string> = {}) =>
    live.ask(typeof who === 'string' ? who : who.name, acceptInvitation, { body: { invitation_id }, headers })
  const joinAs = async (by: Newcomer, path: string, who: Newcomer, role_name: string): Promise<void> => {
    const { body } = await invite(by, path, who.email, role_name)
    const accepted = await accept(who, body.invitation.id)
    if (accepted.status !== 200) throw new Error(`the world cannot be made: ${accepted.text}`)
  }
  const rowOf = async (id: string) =>
    (await live.sql<Record<string, unknown>>('select * from invitations where id = $1', [id]))[0] as Record<string, unknown>
  const rolesOf = async (who: Newcomer) => {
    const { body } = await live.ask(who.name, readMe)
    return (body.organizations as { id: string; roles: string[]; projects: { id: string; roles: string[] }[] }[]).map(
      ({ id, roles, projects }) => ({ id, roles, projects: projects.map((each) => ({ id: each.id, roles: each.roles })) }),
    )
  }
  const membershipsOf = (who: Newcomer, org_id: string) =>
    live.sql('select id from tenant_memberships where user_id = $1 and tenant_id = $2 and deleted_at is null', [who.id, org_id])
  return { accept, invite, joinAs, membershipsOf, newcomer, rolesOf, rowOf, world }
}
export type InvitationWorld = Awaited<ReturnType<ReturnType<typeof invitationsOn>['world']>>
