import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { seeded } from '../live-server.ts'
import type { RightfulCall } from './rightful-call.ts'

/** `active` and `drained` have not enrolled; `retire` is there to be ended. */
export const nodeOf = (name: string) => fixedId('node', `sweep ${name}`)

export const writeNodes = (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<unknown> =>
  sql(
    `insert into nodes (id, name, region, sku, gpus, status, created_at, created_by)
     select n.id, 'sweep-' || n.name, 'nowhere', 'sweep', 1, case n.name when 'drained' then 'drained' else 'active' end, now(), $3
       from unnest($1::uuid[], $2::text[]) as n (id, name)`,
    [['active', 'drained', 'retire'].map(nodeOf), ['active', 'drained', 'retire'], seeded.user('ada')],
  )

const because = { reason: 'because' }
const on = (name: string): RightfulCall => ({ person: 'ada', params: { node_id: nodeOf(name) }, body: because })

export const onNodes: Readonly<Record<string, RightfulCall>> = {
  'node.list': { person: 'otto', params: {} },
  'node.create': { person: 'ada', params: {}, body: { name: 'new-node', region: 'nowhere', sku: 'sweep', gpus: 1, ...because } },
  'node.read': { person: 'otto', params: { node_id: nodeOf('active') } },
  'node.enrolment.create': on('active'),
  'node.drain': on('active'),
  'node.undrain': on('drained'),
  'node.retire': on('retire'),
}
