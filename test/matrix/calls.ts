import type { Operation } from '../../contract/src/operation.ts'
import type { RightfulCall } from '../fuzz/rightful-call.ts'
import { rightfulCalls } from '../fuzz/rightful-calls.ts'
import { runtimeOf, wrappingTokenOf } from '../fuzz/shared-runtime-calls.ts'
import { type ActorClass, isOneOf, type Operator, operators, people, personClasses, serviceAccounts } from './actor-classes.ts'
import type { MatrixWorld } from './world.ts'

/** What is asked, whoever asks. */
export type Asked = Omit<RightfulCall, 'person'>
type More = Partial<Asked>

const because = { reason: 'because' }
const known = new Map(rightfulCalls.map(({ operation, person: _, ...call }) => [operation.id, call as Asked]))

/** What the world of the matrix has otherwise than that of the sweeps, or what is each asker's own. */
const changed = (world: MatrixWorld, operation: Operation, who: ActorClass): More => {
  const { nia, noa, nora, machines, belongings, credentials } = world
  const { node } = machines
  const belonging = isOneOf(personClasses, who) ? belongings.get(who)! : belongings.get('outsider')!
  const ofNode = { params: { node_id: node.id } }
  const [noun, scope = ''] = operation.id.split(/_(?=of_)/)
  // Whoever is none of them has their words and not their secret.
  const account = isOneOf(serviceAccounts, who)
    ? credentials.get(who)!
    : { ...credentials.get('service_account_member')!, client_secret: `ghsa_${'w'.repeat(49)}` }
  const operator = isOneOf(operators, who)
    ? world.operators.get(who)!
    : { ...world.operators.get('runtime_operator')!, client_secret: `ghro_${'w'.repeat(49)}` }
  const { key_id: client_id, client_secret } = isOneOf(operators, who) ? operator : account
  const client =
    isOneOf(serviceAccounts, who) || (isOneOf(operators, who) && operation.id === 'oauth.token.issue') ? { client_id, client_secret } : {}
  const own: Record<string, () => More> = {
    'allocation.access_grant.create': () => ({ body: { ...known.get(operation.id)!.body, grantee_user_id: nia } }),
    'auth.service_account_token.issue': () => ({ body: { ...account, ...because } }),
    'auth.shared_runtime_operator_token.issue': () => ({ body: { ...operator, ...because } }),
    'delivery.unwrap': () => ({ body: { wrapping_token: wrappingTokenOf(who === 'delegated_operator' ? 'delegated' : 'own') } }),
    'invitation.accept': () => ({ body: { invitation_id: belonging.invitation_id } }),
    'oauth.token.introspect': () => ({ body: { ...client, token: 'nobodys' } }),
    'oauth.token.issue': () => ({ body: { ...client, grant_type: 'client_credentials' } }),
    'oauth.token.revoke': () => ({ body: { ...client, token: 'nobodys' } }),
    'organization.member.remove': () => ({ params: { ...known.get(operation.id)!.params, user_id: nia } }),
    'organization.resume': () => ({ params: { org_id: world.parked } }),
    'project.member.add': () => ({ body: { user_id: noa, role_name: 'project_viewer', ...because } }),
    'project.member.remove': () => ({ params: { ...known.get(operation.id)!.params, user_id: nia } }),
    'project.member.ssh_key.list': () => ({ params: { ...known.get(operation.id)!.params, user_id: nia } }),
    'project.owner.appoint': () => ({ params: { project_id: world.ownerless }, body: { user_id: noa, ...because } }),
    'project.restore': () => ({ params: { project_id: world.archived } }),
    'role_binding.end_of_platform': () => ({ params: { binding_id: world.platform_binding } }),
    'role.enable_builtin': () => ({ params: { role_id: world.builtin } }),
    'ssh_key.delete': () => ({ params: { ssh_key_id: belonging.ssh_key_id } }),
    'shared_runtime.update': () => ({ body: { ...known.get(operation.id)!.body, expected_version: 2 } }),
    'user.enable': () => ({ params: { user_id: nora } }),
    'node.certificate.renew': () => ({ ...ofNode, body: { csr: machines.csr } }),
    'node.enrol': () => ({
      body: { enrolment_token: who === 'node_agent' ? machines.enrolment_token : spoilt(machines.enrolment_token), csr: machines.csr },
    }),
    'node.describe': () => ({ ...ofNode, body: described }),
    'node.step.report': () => ({ ...ofNode, body: { steps: [stuck] } }),
    'node.event.report': () => ({ ...ofNode, body: { events: [machines.event] } }),
    'node.task.report': () => ({ params: { ...ofNode.params, task_id: machines.task_id }, body: machines.result as never }),
    'node.task.wait': () => ({ ...ofNode, query: `wait_seconds=0&run=${world.parked}` }),
  }
  if (noun === 'role.enable') return { params: { ...known.get(operation.id)!.params, role_id: world.roles[scope]! } }
  if (noun === 'role.upgrade') return { body: { ...known.get(operation.id)!.body, preview_hash: world.hashes[scope] } }
  return own[operation.id]?.() ?? {}
}

/** What a node may say of itself. */
const described = {
  ...{ devices: [{ index: 0, paths: ['/dev/nvidia0'] }], shared_devices: ['/dev/nvidiactl'], ssh_host: 'gpu-001.example', ssh_port: 22 },
  ssh_host_keys: [],
}
const stuck = { step: 'end_sessions', allocation_id: null, since: '2026-01-01T00:00:00.000Z' }

/** The same token but for its secret. */
const spoilt = (token: string): string => {
  const told = JSON.parse(Buffer.from(token.slice('ghne_'.length), 'base64url').toString('utf8'))
  return `ghne_${Buffer.from(JSON.stringify({ ...told, secret: 'A'.repeat(told.secret.length) })).toString('base64url')}`
}

/** An operator asks about its own runtime, and would attach a project that it could attach. */
const ofOperator = (world: MatrixWorld, { params, ...call }: Asked, who: Operator): Asked => {
  if (!params.shared_runtime_id) return { ...call, params }
  const { id, attachment_id } = world.delegated
  const body = call.body?.project_id ? { body: { ...call.body, project_id: world.spare } } : {}
  const at = who === 'delegated_operator' ? { shared_runtime_id: id, attachment_id } : { shared_runtime_id: runtimeOf('own') }
  return { ...call, ...body, params: { ...params, ...at } }
}

export const askedBy = (world: MatrixWorld, operation: Operation, who: ActorClass): Asked => {
  const call = { params: {}, ...known.get(operation.id), ...changed(world, operation, who) }
  return isOneOf(operators, who) ? ofOperator(world, call, who) : call
}
export const personOf = (who: ActorClass): string | null => (isOneOf(personClasses, who) ? people[who] : null)
