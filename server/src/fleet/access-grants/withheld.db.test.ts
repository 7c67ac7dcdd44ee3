import { listAccessGrants } from '@gatehouse/contract/access-grants'
import { createAllocation } from '@gatehouse/contract/allocations'
import { describe, expect, test } from 'vitest'
import { stageFixture } from '../../../../test/access-stage.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { org, project } = seeded
const live = serverFixture()
const stage = stageFixture(live)

/** As the platform sees it, which sees what rests as well. */
const told = async (id: string, grant_id: string) => {
  const { body } = await live.ask('ada', listAccessGrants, { params: { allocation_id: id } })
  const { state, withheld, runtime_sync } = body.items.find(({ id }) => id === grant_id)!
  return [state, withheld, runtime_sync.status]
}
const move = async (who: string, path: string) =>
  expect((await live.call(who, 'POST', path, { body: { reason: 'unpaid' } })).status).toBe(200)

describe('grants in a place that rests', () => {
  test.for([
    ['organization_suspended', 'ada', `/api/v1/orgs/${org.aurora}/suspend`, `/api/v1/orgs/${org.aurora}/resume`],
    ['project_archived', 'alice', `/api/v1/projects/${project.aurora}/archive`, `/api/v1/projects/${project.aurora}/restore`],
  ] as const)(
    'SG-20 %s: they count and are withheld, and what is said of the node is what it has confirmed',
    async ([withheld, who, down, up]) => {
      const his = await stage.key('axel')
      const { id } = await stage.allocation()
      const grant = await stage.granted('asha', id, 'axel', his)
      const taken = await stage.granted('asha', id, 'aldo', await stage.key('aldo'))
      const former = await stage.granted('asha', id, 'axel', await stage.key('axel'))
      await stage.done(stage.revoke('asha', id, former.id), 200)
      await stage.model.settle()
      const { body: young } = await live.ask('asha', createAllocation, {
        body: { project_id: project.aurora, name: 'young', region: 'eu-1', sku: 'h100', gpus: 1 },
      })
      const early = await stage.granted('asha', young.id, 'axel', his)
      expect(await told(id, grant.id)).toEqual(['active', null, 'applied'])

      await move(who, down)
      // The node has not asked yet: the key still opens.
      expect(stage.onNode(id)).toContain(his.fingerprint)
      expect(await told(id, grant.id)).toEqual(['active', withheld, 'pending'])
      expect(await told(id, former.id)).toEqual(['revoked', null, 'applied'])
      await stage.model.settle()
      expect(stage.onNode(id)).toEqual([])
      expect(await told(id, grant.id)).toEqual(['active', withheld, 'applied'])
      expect(await told(young.id, early.id)).toEqual(['active', withheld, 'applied'])

      // Meanwhile nothing there is its members' to change; the platform may take back.
      for (const person of ['axel', 'asha', 'alice']) expect((await stage.revoke(person, id, grant.id)).status).toBe(403)
      expect((await stage.revoke('ada', id, taken.id)).status).toBe(200)
      await stage.model.settle()
      expect(await told(id, taken.id)).toEqual(['revoked', null, 'applied'])

      await move(who, up)
      // Again it has not asked: nobody is in yet.
      expect(await told(id, grant.id)).toEqual(['active', null, 'pending'])
      expect(await told(young.id, early.id)).toEqual(['active', null, 'pending'])
      await stage.model.settle()
      expect([stage.onNode(id), stage.onNode(young.id)]).toEqual([[his.fingerprint], [his.fingerprint]])
      expect(await told(id, grant.id)).toEqual(['active', null, 'applied'])
      expect(await told(young.id, early.id)).toEqual(['active', null, 'applied'])
    },
  )
})
