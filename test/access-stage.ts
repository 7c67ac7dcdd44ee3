import { createAccessGrant, revokeAccessGrant } from '../contract/src/access-grants.ts'
import { createAllocation } from '../contract/src/allocations.ts'
import { createProjectSshKey, createSshKey } from '../contract/src/ssh-keys.ts'
import { enrolledNode, type NodeKind } from './enrolled-node.ts'
import { fixture } from './fixture.ts'
import { type Answered, type LiveServer, seeded } from './live-server.ts'
import { type Mishaps, modelNode } from './model-node.ts'
import { newKeyLine } from './ssh-key-lines.ts'

const { project, user } = seeded
/** A seeded person by his name, anybody else by his id. */
const idOf = (person: string): string => (seeded.usernames.includes(person) || !/^[0-9a-f-]{36}$/.test(person) ? user(person) : person)

export interface StagedKey {
  readonly id: string
  readonly fingerprint: string
}

const done = async (asked: Promise<Answered>, status: number) => {
  const answered = await asked
  if (answered.status !== status) throw new Error(`was to be answered ${status}: ${answered.status} ${answered.text}`)
  return answered.body
}

/** A key of that person's: a new one, or one that is there already under another name. */
export const keyOf = (live: LiveServer, person: string, public_key = newKeyLine()): Promise<StagedKey> =>
  done(live.ask(person, createSshKey, { body: { name: 'laptop', public_key } }), 201)

/** A key of a project's automation. */
export const automationKey = (
  live: LiveServer,
  project_id: string = project.aurora,
  person = 'asha',
  public_key = newKeyLine(),
): Promise<StagedKey> => done(live.ask(person, createProjectSshKey, { params: { project_id }, body: { name: 'robot', public_key } }), 201)

/** A node with much room, and how people come to keys, allocations and grants there: by the API, as anybody. */
export const accessStage = async (live: LiveServer, mishaps: Mishaps = {}, kind: NodeKind = {}) => {
  const shape = { region: 'eu-1', sku: 'h100', ...kind }
  const node = await enrolledNode(live, { gpus: 1024, ...shape })
  const model = modelNode(live, node, mishaps)

  const key = (person: string, public_key?: string) => keyOf(live, person, public_key)
  const projectKey = (person = 'asha', public_key?: string, project_id?: string) => automationKey(live, project_id, person, public_key)

  /** Asked for and, unless it is to wait, brought as far as `active`. */
  const allocation = async (person = 'asha', keys: readonly StagedKey[] = [], is_settled = true): Promise<{ id: string }> => {
    const { region, sku } = shape
    const body = { project_id: project.aurora, name: 'work', region, sku, gpus: 1, ssh_key_ids: keys.map(({ id }) => id) }
    const made = await done(live.ask(person, createAllocation, { body }), 201)
    if (is_settled) await model.settle()
    return made
  }

  const pathOf = (allocation_id: string) => `/api/v1/allocations/${allocation_id}/access-grants`
  const grant = (person: string, allocation_id: string, grantee: string, ssh_key: StagedKey, more: object = {}): Promise<Answered> =>
    live.ask(person, createAccessGrant, {
      params: { allocation_id },
      body: { grantee_user_id: idOf(grantee), ssh_key_id: ssh_key.id, ...more },
    })
  const granted = (...asked: Parameters<typeof grant>) => done(grant(...asked), 201)
  const revoke = (person: string, allocation_id: string, grant_id: string, base?: string): Promise<Answered> =>
    live.ask(person, revokeAccessGrant, { params: { allocation_id, grant_id }, body: {}, base })
  const list = (person: string, allocation_id: string, query = ''): Promise<Answered> =>
    live.call(person, 'GET', `${pathOf(allocation_id)}${query}`)
  /** One of them as it is told now. */
  const seen = async (allocation_id: string, grant_id: string) =>
    (await done(list('amara', allocation_id), 200)).items.find(({ id }: { id: string }) => id === grant_id)

  /** What the node has in force. */
  const onNode = (allocation_id: string): readonly string[] => model.held.get(allocation_id)?.keys ?? []
  const tasksOf = (allocation_id: string) =>
    live.sql<{ id: string; type: string; generation: string; state: string; params: { keys?: { fingerprint: string }[] } }>(
      'select * from node_tasks where allocation_id = $1 order by generation, created_at',
      [allocation_id],
    )
  const recordOf = async (action: string, resource_id: string) =>
    live.sql<Record<string, unknown> & { metadata: Record<string, unknown> }>(
      'select * from audit_logs where action = $1 and resource_id = $2 order by chain_id, seq',
      [action, resource_id],
    )
  return {
    node,
    model,
    done,
    key,
    projectKey,
    allocation,
    grant,
    granted,
    revoke,
    list,
    seen,
    onNode,
    tasksOf,
    recordOf,
    pathOf,
    stop: () => node.stop(),
  }
}
export type AccessStage = Awaited<ReturnType<typeof accessStage>>

/** The stage that all tests of a file share. */
export const stageFixture = (live: LiveServer, mishaps?: Mishaps): AccessStage =>
  fixture(
    () => accessStage(live, mishaps),
    (stage) => stage.stop(),
  )
