import Type, { type Static } from 'typebox'
import { keyTypes } from './node-tasks.ts'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Name, Named, Nullable, OneOf, Reason } from './shapes.ts'

const maybe = Type.Optional

const told = {
  id: Id('ssh key'),
  name: Name,
  key_type: OneOf(keyTypes),
  bits: Type.Integer(),
  fingerprint: Type.String({ description: 'SHA-256, as `ssh-keygen -l` prints it.' }),
  created_at: Instant,
}
export const SshKey = Named('SshKey', {
  ...told,
  user_id: Nullable(Id('user')),
  project_id: Nullable(Id('project')),
  public_key: Type.String({ description: 'Type and key in base64, as they stand in a file of keys; never a comment of the sender’s.' }),
})
export type SshKey = Static<typeof SshKey>

/** What somebody else may know of a person's key. */
export const MemberSshKey = Named('MemberSshKey', { ...told, user_id: Id('user') })
export type MemberSshKey = Static<typeof MemberSshKey>

/** Read by whoever answers: what does not fit is refused in one way, and no part of it is told or kept. */
const PublicKeyText = Type.String({
  description:
    'One line as in a `.pub` file: type, key in base64, and a comment, which is not kept. Ed25519, ECDSA on the NIST curves, RSA of 2048 to 8192 bits, and the first two on a security key.',
})
const NewKey = Exactly({ name: Name, public_key: PublicKeyText, reason: maybe(Reason) })
const inProject = { project_id: Id('project') }
const mine = '/api/v1/ssh-keys'
const projects = '/api/v1/projects/:project_id/ssh-keys'

export const listSshKeys = listOperation({
  id: 'ssh_key.list',
  path: mine,
  summary: 'Your own SSH keys.',
  actors: ['user'],
  action: 'me.ssh_key.read',
  item: SshKey,
  problems: [],
})

export const createSshKey = operation({
  id: 'ssh_key.create',
  method: 'POST',
  path: mine,
  summary: 'Register a public key of yours.',
  description: 'A private key is refused, and nothing of it is kept; consider it lost, and make a new one.',
  actors: ['user'],
  action: 'me.ssh_key.manage',
  effect: 'change',
  body: NewKey,
  reply: SshKey,
  success: 201,
  problems: ['invalid_key', 'ssh_key_already_exists', 'limit_reached'],
})

export const deleteSshKey = operation({
  id: 'ssh_key.delete',
  method: 'DELETE',
  path: `${mine}/:ssh_key_id`,
  summary: 'Delete a key of yours; what it opened ends with it, on every allocation.',
  actors: ['user'],
  action: 'me.ssh_key.manage',
  effect: 'change',
  params: { ssh_key_id: Id('ssh key') },
  body: Exactly({ reason: maybe(Reason) }),
  problems: ['ssh_key_not_found'],
})

const automation = { actors: ['user', 'service_account'] } as const

export const listProjectSshKeys = listOperation({
  ...automation,
  id: 'project.ssh_key.list',
  path: projects,
  summary: 'The keys of a project’s automation.',
  action: 'project.ssh_key.read',
  params: inProject,
  item: SshKey,
  problems: ['project_not_found'],
})

export const createProjectSshKey = operation({
  ...automation,
  id: 'project.ssh_key.create',
  method: 'POST',
  path: projects,
  summary: 'Register a public key of the project’s automation.',
  action: 'project.ssh_key.manage',
  effect: 'change',
  params: inProject,
  body: NewKey,
  reply: SshKey,
  success: 201,
  problems: ['project_not_found', 'invalid_key', 'ssh_key_already_exists', 'limit_reached'],
})

export const deleteProjectSshKey = operation({
  ...automation,
  id: 'project.ssh_key.delete',
  method: 'DELETE',
  path: `${projects}/:ssh_key_id`,
  summary: 'Delete a key of the project’s automation; what it opened ends with it.',
  action: 'project.ssh_key.manage',
  effect: 'change',
  params: { ...inProject, ssh_key_id: Id('ssh key') },
  body: Exactly({ reason: maybe(Reason) }),
  problems: ['project_not_found', 'ssh_key_not_found'],
})

export const listMemberSshKeys = listOperation({
  id: 'project.member.ssh_key.list',
  path: '/api/v1/projects/:project_id/members/:user_id/ssh-keys',
  summary: 'The personal keys of a member, for those who may give him access here: type and fingerprint.',
  actors: ['user'],
  action: ['project.access_grant.manage', 'tenant.access_grant.manage'],
  params: { ...inProject, user_id: Id('user') },
  item: MemberSshKey,
  problems: ['project_not_found', 'member_not_found'],
})
