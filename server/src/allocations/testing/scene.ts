import { enrolledNode } from '../../../../test/enrolled-node.ts'
import { type LiveServer, type Sending, seeded } from '../../../../test/live-server.ts'
import { type Mishaps, modelNode } from '../../../../test/model-node.ts'
import { newKeyLine } from '../../../../test/ssh-key-lines.ts'

const { project } = seeded
let made = 0

/** What tests of allocations do all the time; every scene has a kind of node of its own, so that no other's is in its way. */
export const sceneOn = async (live: LiveServer, gpus = 8, mishaps: Mishaps = {}) => {
  made += 1
  const pool = { region: `eu-${made}`, sku: 'h100' }
  const enrolled = await enrolledNode(live, { ...pool, gpus })
  const node = modelNode(live, enrolled, mishaps)
  const path = (id: string, more = '') => `/api/v1/allocations/${id}${more}`
  const ask = (body: object = {}, who: string | null = 'asha', sending: Sending = {}, base?: string) =>
    live.call(
      who,
      'POST',
      '/api/v1/allocations',
      { ...sending, body: { project_id: project.aurora, name: 'a run', ...pool, gpus: 1, ...body } },
      base,
    )
  const read = async (id: string, who = 'asha') => (await live.call(who, 'GET', path(id))).body
  return {
    pool,
    node,
    enrolled,
    path,
    ask,
    read,
    release: (id: string, who = 'asha') => live.call(who, 'POST', path(id, '/release'), { body: {} }),
    setKeys: (id: string, ssh_key_ids: string[], who = 'asha') => live.call(who, 'PUT', path(id, '/ssh-keys'), { body: { ssh_key_ids } }),
    grant: (id: string, grantee_user_id: string, ssh_key_id: string, who = 'amara') =>
      live.call(who, 'POST', path(id, '/access-grants'), { body: { grantee_user_id, ssh_key_id } }),
    /** Asked for, provided and open. */
    active: async (body: object = {}, who = 'asha'): Promise<string> => {
      const { body: asked } = await ask(body, who)
      await node.settle()
      const found = await read(asked.id, 'amara')
      if (found.state !== 'active') throw new Error(`not active: ${JSON.stringify(found)}`)
      return asked.id
    },
    /** As the node holds it. */
    keysOn: (id: string) => [...(node.held.get(id)?.keys ?? [])],
  }
}
export type Scene = Awaited<ReturnType<typeof sceneOn>>

/** A key of that person's. */
export const keyOf = async (live: LiveServer, who: string): Promise<{ id: string; fingerprint: string }> =>
  (await live.call(who, 'POST', '/api/v1/ssh-keys', { body: { name: 'laptop', public_key: newKeyLine() } })).body

/** A key of the project's automation. */
export const automationKey = async (
  live: LiveServer,
  project_id: string = project.aurora,
  who = 'asha',
): Promise<{ id: string; fingerprint: string }> =>
  (await live.call(who, 'POST', `/api/v1/projects/${project_id}/ssh-keys`, { body: { name: 'robot', public_key: newKeyLine() } })).body
