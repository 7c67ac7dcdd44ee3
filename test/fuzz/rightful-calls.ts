import { operations } from '../../contract/src/operations.ts'
import { seeded } from '../live-server.ts'

/** A call that is allowed and complete: who makes it, on what, with what. What it does to the world is the caller's affair. */
export interface RightfulCall {
  readonly person: string
  readonly params: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, unknown>>
}

const { org, project, user } = seeded
const ofOrg = { org_id: org.aurora }
const ofProject = { project_id: project.aurora }
const inOrg = { type: 'organization', tenant_id: org.aurora }
const because = { reason: 'because' }

/** One for each operation, in the seeded world; a new operation gets its line here, and every sweep then includes it. */
const calls: Readonly<Record<string, RightfulCall>> = {
  'audit_log.list_all': { person: 'otto', params: {} },
  'audit_log.list_of_organization': { person: 'alice', params: ofOrg },
  'audit_log.list_of_project': { person: 'amara', params: ofProject },
  'audit_log.verify': { person: 'otto', params: {} },
  'authz.decide': { person: 'anna', params: {}, body: { action: 'tenant.read', resource: inOrg } },
  'authz.decide_batch': { person: 'anna', params: {}, body: { questions: [{ action: 'tenant.read', resource: inOrg }] } },
  'authz.explain': { person: 'anna', params: {}, body: { action: 'tenant.read', resource: inOrg } },
  'me.permissions': { person: 'anna', params: {} },
  'me.read': { person: 'anna', params: {} },
  'organization.create': { person: 'ada', params: {}, body: { name: 'New', slug: 'new', owner_user_id: user('anna'), ...because } },
  'organization.list': { person: 'anna', params: {} },
  'organization.member.list': { person: 'anna', params: ofOrg },
  'organization.member.remove': { person: 'alice', params: { ...ofOrg, user_id: user('arne') }, body: because },
  'organization.read': { person: 'anna', params: ofOrg },
  'organization.resume': { person: 'ada', params: ofOrg, body: because },
  'organization.suspend': { person: 'ada', params: ofOrg, body: because },
  'organization.update': { person: 'alice', params: ofOrg, body: { name: 'Renamed', ...because } },
  'project.archive': { person: 'adam', params: ofProject, body: because },
  'project.create': { person: 'alice', params: ofOrg, body: { name: 'New', slug: 'new', owner_user_id: user('anna'), ...because } },
  'project.list': { person: 'adam', params: ofOrg },
  'project.member.add': { person: 'amara', params: ofProject, body: { user_id: user('anna'), role_name: 'project_viewer', ...because } },
  'project.member.list': { person: 'amara', params: ofProject },
  'project.member.remove': { person: 'amara', params: { ...ofProject, user_id: user('axel') }, body: because },
  'project.read': { person: 'amara', params: ofProject },
  'project.restore': { person: 'adam', params: ofProject, body: because },
  'project.update': { person: 'adam', params: ofProject, body: { name: 'Renamed', ...because } },
  'user.disable': { person: 'ada', params: { user_id: user('bodo') }, body: because },
  'user.enable': { person: 'ada', params: { user_id: user('bodo') }, body: because },
  'user.list': { person: 'ada', params: {} },
  'user.read': { person: 'ada', params: { user_id: user('bodo') } },
}

/** Every operation with its call; one without a call fails whoever sweeps. */
export const rightfulCalls = operations.map((operation) => {
  const call = calls[operation.id]
  if (!call) throw new Error(`${operation.id} has no rightful call in test/fuzz/rightful-calls.ts`)
  return { operation, ...call }
})

export const pathOf = (template: string, params: Readonly<Record<string, string>>): string =>
  template.replaceAll(/:(\w+)|\{(\w+)\}/g, (_, colon: string | undefined, braced: string | undefined) =>
    encodeURIComponent(params[(colon ?? braced)!] ?? ''),
  )
