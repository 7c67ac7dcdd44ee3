import { createAccessGrant } from '../contract/src/access-grants.ts'
import { createAllocation, readAllocation, releaseAllocation, replaceAllocationSshKeys } from '../contract/src/allocations.ts'
import { accessStage } from './access-stage.ts'
import { type LiveServer, type Sending, seeded } from './live-server.ts'
import type { Mishaps } from './model-node.ts'

const { project } = seeded
let made = 0

/** What tests of allocations do all the time; every scene has a kind of node of its own, so that no other's is in its way. */
export const sceneOn = async (live: LiveServer, gpus = 8, mishaps: Mishaps = {}) => {
  made += 1
  const pool = { region: `eu-${made}`, sku: 'h100' }
  const { model: node, node: machine, onNode } = await accessStage(live, mishaps, { ...pool, gpus })
  const path = (id: string, more = '') => `/api/v1/allocations/${id}${more}`
  const ask = (body: object = {}, who: string | null = 'asha', sending: Sending = {}, base?: string) =>
    live.ask(who, createAllocation, { ...sending, body: { project_id: project.aurora, name: 'a run', ...pool, gpus: 1, ...body }, base })
  const read = async (id: string, who = 'asha') => (await live.ask(who, readAllocation, { params: { allocation_id: id } })).body
  return {
    pool,
    node,
    machine,
    path,
    ask,
    read,
    release: (id: string, who = 'asha') => live.ask(who, releaseAllocation, { params: { allocation_id: id }, body: {} }),
    setKeys: (id: string, ssh_key_ids: string[], who = 'asha') =>
      live.ask(who, replaceAllocationSshKeys, { params: { allocation_id: id }, body: { ssh_key_ids } }),
    grant: (id: string, grantee_user_id: string, ssh_key_id: string, who = 'amara') =>
      live.ask(who, createAccessGrant, { params: { allocation_id: id }, body: { grantee_user_id, ssh_key_id } }),
    /** Asked for, provided and open. */
    active: async (body: object = {}, who = 'asha'): Promise<string> => {
      const { body: asked } = await ask(body, who)
      await node.settle()
      const found = await read(asked.id, 'amara')
      if (found.state !== 'active') throw new Error(`not active: ${JSON.stringify(found)}`)
      return asked.id
    },
    /** As the node holds it. */
    keysOn: (id: string) => [...onNode(id)],
  }
}
export type Scene = Awaited<ReturnType<typeof sceneOn>>
