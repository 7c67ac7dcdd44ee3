import { fixedId } from '../../server/src/kernel/ids.ts'
import { seeded } from '../live-server.ts'
import type { RightfulCall } from './rightful-call.ts'

const { org, project, user } = seeded

/** `own` has the seeded project, `bare` has none, `disabled` rests, `end` is there to be ended; `foreign` is another tenant's. */
export const runtimeOf = (name: string) => fixedId('shared runtime', `sweep ${name}`)
export const attachmentOf = (name: string) => fixedId('attachment', `sweep ${name}`)

export const writeSharedRuntimes = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  const names = ['own', 'bare', 'disabled', 'end', 'foreign']
  const isOf = (name: string) => (name === 'foreign' ? org.borealis : org.aurora)
  await sql(
    `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, created_at, created_by, updated_at,
                                      state, disabled_at, disabled_by, disable_reason)
     select id, org_id, 'sweep', '1', 'Sweep ' || name, 'slurm', now(), $4, now(), case when is_off then 'disabled' else 'requested' end,
            case when is_off then now() end, case when is_off then $4::uuid end, case when is_off then 'sweep' end
       from unnest($1::uuid[], $2::uuid[], $3::text[]) as r (id, org_id, name) cross join lateral (select name = 'disabled') as o (is_off)`,
    [names.map(runtimeOf), names.map(isOf), names, user('ada')],
  )
  await sql(
    `insert into shared_runtime_attachments (id, shared_runtime_id, org_id, project_id, contribution_policy, created_at, created_by_type, created_by, updated_at)
     select id, runtime_id, org_id, project_id, 'all', now(), 'user', $5, now()
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[]) as a (id, runtime_id, org_id, project_id)`,
    [
      ['own', 'end', 'foreign'].map(attachmentOf),
      ['own', 'end', 'foreign'].map(runtimeOf),
      [org.aurora, org.aurora, org.borealis],
      [project.aurora, project.aurora, project.borealis],
      user('ada'),
    ],
  )
}

const because = { reason: 'because' }
const inOrg = { org_id: org.aurora }
const on = (name: string, person = 'adam') => ({ person, params: { ...inOrg, shared_runtime_id: runtimeOf(name) } })
const attachedTo = (name: string) => ({ person: 'adam', params: { ...on(name).params, attachment_id: attachmentOf(name) } })

export const onSharedRuntimes: Readonly<Record<string, RightfulCall>> = {
  'shared_runtime.list': { person: 'anna', params: inOrg },
  'shared_runtime.create': {
    person: 'adam',
    params: inOrg,
    body: { app_slug: 'slurm', app_version: '1', display_name: 'New', runtime_backend: 'slurm', ...because },
  },
  'shared_runtime.read': on('own', 'anna'),
  'shared_runtime.update': { ...on('own'), body: { app_version: '2', expected_version: 1, ...because } },
  'shared_runtime.disable': { ...on('bare'), body: because },
  'shared_runtime.enable': { ...on('disabled'), body: because },
  'shared_runtime.delete': { ...on('end'), body: because },
  'shared_runtime.attachment.list': on('own', 'anna'),
  'shared_runtime.attachment.create': { ...on('bare'), body: { project_id: project.aurora, contribution_policy: 'none', ...because } },
  'shared_runtime.attachment.read': { ...attachedTo('own'), person: 'anna' },
  'shared_runtime.attachment.update': { ...attachedTo('own'), body: { contribution_policy: 'tagged', ...because } },
  'shared_runtime.attachment.delete': { ...attachedTo('end'), body: because },
  'shared_runtime.eligible_project.list': on('own'),
  'shared_runtime.members.read': on('own', 'anna'),
  // An operator's alone. Whoever it is, a request is read before it is known that he is none; what operators get is proved by themselves.
  'shared_runtime.status.report': { ...on('own'), body: { sequence: 1, state: 'running' } },
  'shared_runtime.members.report': { ...on('own'), body: { sequence: 1, members: [] } },
  'shared_runtime.allocation.list': on('own'),
}
