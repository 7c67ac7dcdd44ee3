import { newOrganization, newProject } from './places.ts'
import { part, type Recipes, type Stage } from './recipe.ts'

/** In an organization of one's own. */
const aRuntime = async (stage: Stage) => {
  const org_id = (await newOrganization(stage)).id
  const words = { display_name: stage.word(), reason: stage.word() }
  const body = { app_slug: 'faults', app_version: '1', runtime_backend: 'slurm', ...words }
  return { person: 'alice', params: { org_id }, body }
}
export const onARuntime = async (stage: Stage) => {
  const wish = await aRuntime(stage)
  const { id } = await stage.done('shared_runtime.create', wish)
  return { person: wish.person, params: { ...wish.params, shared_runtime_id: id }, body: { reason: stage.word() } }
}
const toAttach = async (stage: Stage) => {
  const asking = await onARuntime(stage)
  const { id } = await newProject(stage, asking.params.org_id)
  return { ...asking, body: { project_id: id, contribution_policy: 'all', ...asking.body } }
}
const attached = async (stage: Stage) => {
  const asking = await toAttach(stage)
  const { id } = await stage.done('shared_runtime.attachment.create', asking)
  return { ...asking, params: { ...asking.params, attachment_id: id }, body: { reason: stage.word() } }
}

export const runtimes = 'shared_app_runtimes where id = $1'
const attachments = 'shared_runtime_attachments where'
export const operatorKeys = 'shared_runtime_operator_credentials where'

export const sharedRuntimes: Recipes = {
  'shared_runtime.create': {
    prepare: aRuntime,
    effect: ({ body }) => [part('runtime', 'shared_app_runtimes where display_name = $1', body.display_name)],
  },
  'shared_runtime.update': {
    prepare: async (stage) => {
      const { body, ...asking } = await onARuntime(stage)
      return { ...asking, body: { app_version: stage.word(), delegated_actions: ['attach'], expected_version: 1, ...body } }
    },
    effect: ({ params, body }) => [
      part('version', `${runtimes} and version = 2 and app_version = $2`, params.shared_runtime_id, body.app_version),
    ],
  },
  'shared_runtime.disable': {
    prepare: onARuntime,
    effect: ({ params, body }) => [
      part('disabled', `${runtimes} and cursor_version = 2 and disable_reason = $2`, params.shared_runtime_id, body.reason),
    ],
  },
  'shared_runtime.enable': {
    prepare: async (stage) => {
      const asking = await onARuntime(stage)
      await stage.done('shared_runtime.disable', asking)
      return asking
    },
    effect: ({ params }) => [part('enabled', `${runtimes} and state = 'requested'`, params.shared_runtime_id)],
  },
  'shared_runtime.delete': {
    prepare: async (stage) => {
      const { params, ...asking } = await attached(stage)
      const of_runtime = { org_id: params.org_id, shared_runtime_id: params.shared_runtime_id }
      await stage.done('shared_runtime.operator_credential.create', { ...asking, params: of_runtime })
      return { ...asking, params: of_runtime }
    },
    effect: ({ params, body }) => [
      part('end', `${runtimes} and delete_reason = $2`, params.shared_runtime_id, body.reason),
      part('end of the attachment', `${attachments} shared_runtime_id = $1 and detach_reason = $2`, params.shared_runtime_id, body.reason),
      part('end of the credential', `${operatorKeys} shared_runtime_id = $1 and revoke_reason = $2`, params.shared_runtime_id, body.reason),
      part('end of the tokens', 'token_cutoffs where subject_id = $1 and reason = $2', params.shared_runtime_id, body.reason),
    ],
  },
  'shared_runtime.attachment.create': {
    prepare: toAttach,
    effect: ({ params, body }) => [
      part('attachment', `${attachments} shared_runtime_id = $1 and project_id = $2`, params.shared_runtime_id, body.project_id),
      part('count', `${runtimes} and cursor_version = 2`, params.shared_runtime_id),
    ],
  },
  'shared_runtime.attachment.update': {
    prepare: async (stage) => {
      const { body, ...asking } = await attached(stage)
      return { ...asking, body: { contribution_policy: 'none', ...body } }
    },
    effect: ({ params }) => [
      part('policy', `${attachments} id = $1 and contribution_policy = 'none'`, params.attachment_id),
      part('count', `${runtimes} and cursor_version = 3`, params.shared_runtime_id),
    ],
  },
  'shared_runtime.attachment.delete': {
    prepare: async (stage) => {
      const asking = await toAttach(stage)
      const letting = { eligible_project_ids: [asking.body.project_id], expected_version: 1, reason: stage.word() }
      await stage.done('shared_runtime.update', { ...asking, body: letting })
      const { id } = await stage.done('shared_runtime.attachment.create', asking)
      return { ...asking, params: { ...asking.params, attachment_id: id }, body: { reason: stage.word() } }
    },
    effect: ({ params, body }) => [
      part('end', `${attachments} id = $1 and detach_reason = $2`, params.attachment_id, body.reason),
      part('list', `${runtimes} and version = 3 and eligible_project_ids = '{}'`, params.shared_runtime_id),
      part('count', `${runtimes} and cursor_version = 3`, params.shared_runtime_id),
    ],
  },
}
