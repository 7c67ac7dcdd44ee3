import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'
import { contributionPolicies, oneRuntime } from './shared-runtimes.ts'

const maybe = Type.Optional

const Contribution = Type.Unsafe<(typeof contributionPolicies)[number]>({
  ...OneOf(contributionPolicies),
  description: 'Which allocations of the project the runtime may see: none, those tagged for it, or all.',
})

export const Attachment = Named('SharedRuntimeAttachment', {
  id: Id('attachment'),
  shared_runtime_id: Id('shared runtime'),
  org_id: Id('org'),
  project_id: Id('project'),
  contribution_policy: Contribution,
  state: OneOf(['active', 'detached']),
  created_at: Instant,
  created_by_type: OneOf(['user', 'shared_runtime_operator']),
  created_by: Type.String(),
  updated_at: Instant,
  detached_at: Nullable(Instant),
})
export type Attachment = Static<typeof Attachment>

const { path: one, params, gone } = oneRuntime
const attachment = { ...params, attachment_id: Id('attachment') }
const people = ['user'] as const
const peopleAndOperator = ['user', 'shared_runtime_operator'] as const
const read = 'tenant.shared_runtime.read'
const manage = 'tenant.shared_runtime.manage'
const Because = Exactly({ reason: Reason })

export const listAttachments = listOperation({
  id: 'shared_runtime.attachment.list',
  path: `${one}/attachments`,
  summary: 'The projects that are attached to a shared runtime; with `state=detached` those that were.',
  actors: peopleAndOperator,
  action: read,
  params,
  query: { state: maybe(OneOf(['active', 'detached'])) },
  item: Attachment,
  problems: gone,
})

export const createAttachment = operation({
  id: 'shared_runtime.attachment.create',
  method: 'POST',
  path: `${one}/attachments`,
  summary: 'Attach a project of the same organization.',
  description:
    'The runtime’s operator may where `attach` is delegated to it, for the projects of `eligible_project_ids` and with no larger contribution than `delegated_contribution_policy`.',
  actors: peopleAndOperator,
  action: [manage, 'shared_runtime.attach'],
  effect: 'change',
  params,
  body: Exactly({ project_id: Id('project'), contribution_policy: Contribution, reason: maybe(Reason) }),
  reply: Attachment,
  success: 201,
  problems: [...gone, 'project_not_found', 'attachment_already_exists', 'state_conflict'],
})

export const readAttachment = operation({
  id: 'shared_runtime.attachment.read',
  method: 'GET',
  path: `${one}/attachments/:attachment_id`,
  summary: 'One attachment.',
  actors: peopleAndOperator,
  action: read,
  effect: 'read',
  params: attachment,
  reply: Attachment,
  problems: [...gone, 'attachment_not_found'],
})

export const updateAttachment = operation({
  id: 'shared_runtime.attachment.update',
  method: 'PATCH',
  path: `${one}/attachments/:attachment_id`,
  summary: 'Change what an attached project contributes.',
  actors: people,
  action: manage,
  effect: 'change',
  params: attachment,
  body: Exactly({ contribution_policy: Contribution, reason: Reason }),
  reply: Attachment,
  problems: [...gone, 'attachment_not_found', 'state_conflict'],
})

export const deleteAttachment = operation({
  id: 'shared_runtime.attachment.delete',
  method: 'DELETE',
  path: `${one}/attachments/:attachment_id`,
  summary: 'Detach a project: at once the runtime’s operator sees nothing of it any more.',
  description:
    'The runtime’s operator may where `detach` is delegated to it. A project that people detach is taken off `eligible_project_ids`, so that the operator cannot attach it again.',
  actors: peopleAndOperator,
  action: [manage, 'shared_runtime.detach'],
  effect: 'change',
  params: attachment,
  body: Because,
  reply: Attachment,
  problems: [...gone, 'attachment_not_found', 'state_conflict'],
})

export const listEligibleProjects = listOperation({
  id: 'shared_runtime.eligible_project.list',
  path: `${one}/eligible-projects`,
  summary: 'The projects of the organization that could be attached: not attached yet, and whether the operator may do it by itself.',
  actors: people,
  action: manage,
  params,
  item: Named('EligibleProject', { project_id: Id('project'), name: Type.String(), slug: Type.String(), is_delegated: Type.Boolean() }),
  problems: gone,
})
