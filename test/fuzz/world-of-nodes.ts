import { createHash } from 'node:crypto'
import { createNode } from '../../contract/src/nodes.ts'
import { enrolledNode } from '../enrolled-node.ts'
import type { LiveServer } from '../live-server.ts'
import type { RightfulCall } from './rightful-call.ts'

const at = <T>(list: readonly T[], pick: number): T => list[pick % list.length]!
const few = [0, 1, 2, 3]

/** Nodes to be switched on and off, nodes to be ended, one that can be asked; and signers to be revoked. */
export const worldOfNodes = async (live: LiveServer) => {
  const nodes: Record<'switched' | 'ended', string[]> = { switched: [], ended: [] }
  for (const [use, made] of Object.entries(nodes))
    for (const n of few) {
      const { body } = await live.ask('ada', createNode, { body: { name: `${use}-${n}`, region: 'nowhere', sku: 'fuzz', gpus: 1 } })
      made.push(body.node.id)
    }
  const asked = await enrolledNode(live, { region: 'nowhere', sku: 'fuzz' })
  asked.stop()
  const kids = few.map((n) => createHash('sha256').update(`fuzz ${n}`).digest('base64url'))
  await live.sql(
    `insert into task_signers (kid, version, certificate, envelope, epoch, state, created_at, activated_at, grace_until)
     select s.kid, 999 + s.n, 'none', '{}', i.epoch, 'grace', now(), now(), now() + interval '1 day'
       from unnest($1::text[]) with ordinality as s (kid, n) cross join installation i`,
    [kids],
  )

  const on = (use: keyof typeof nodes) => (pick: number) => ({ person: 'ada', params: { node_id: at(nodes[use], pick) } })
  const onAsked = () => ({ person: 'ada', params: { node_id: asked.id } })
  const calls: Record<string, (pick: number) => RightfulCall> = {
    'node.read': on('switched'),
    'node.enrolment.create': on('switched'),
    'node.drain': on('switched'),
    'node.undrain': on('switched'),
    'node.retire': on('ended'),
    'node.probe': onAsked,
    'node.task.list': onAsked,
    'node.signer.revoke': (pick) => ({ person: 'ada', params: { kid: at(kids, pick) } }),
  }
  return {
    calls,
    learn: (operation: string, body: { node: { id: string } }): void => {
      if (operation === 'node.create') nodes.ended.push(body.node.id)
    },
  }
}
