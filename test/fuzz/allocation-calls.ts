import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { seeded } from '../live-server.ts'
import type { RightfulCall } from './rightful-call.ts'

const { org, project, user } = seeded

/** `own` and `release` are of the seeded project and wait for a node; `foreign` is another tenant's. */
export const allocationOf = (name: string) => fixedId('allocation', `sweep ${name}`)

export const writeAllocations = (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<unknown> =>
  sql(
    `insert into allocations (id, org_id, project_id, name, requested_by_type, requested_by, owner_user_id, region, sku, gpus, state_since, epoch, created_at)
     select a.id, a.org_id, a.project_id, 'Sweep', 'user', a.owner, a.owner, 'sweep', 'sweep', 1, now(), i.epoch, now()
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[]) as a (id, org_id, project_id, owner) cross join installation i`,
    [
      ['own', 'release', 'foreign'].map(allocationOf),
      [org.aurora, org.aurora, org.borealis],
      [project.aurora, project.aurora, project.borealis],
      [user('asha'), user('asha'), user('birgit')],
    ],
  )

const own = { person: 'asha', params: { allocation_id: allocationOf('own') } }
const because = { reason: 'because' }

export const onAllocations: Readonly<Record<string, RightfulCall>> = {
  'allocation.list': { person: 'asha', params: {}, query: `project_id=${project.aurora}` },
  'allocation.create': {
    person: 'asha',
    params: {},
    body: { project_id: project.aurora, name: 'New', region: 'sweep', sku: 'sweep', gpus: 1, ...because },
  },
  'allocation.read': own,
  'allocation.release': { person: 'asha', params: { allocation_id: allocationOf('release') }, body: because },
  'allocation.ssh_keys.replace': { ...own, body: { ssh_key_ids: [], ...because } },
  'allocation.owner.name': { ...own, body: { user_id: user('asha'), ...because } },
}
