import type { Operation } from '../../contract/src/operation.ts'
import { type Answered, type LiveServer, seeded } from '../live-server.ts'
import type { Pair } from './pairs.ts'
import type { Asker, World } from './world.ts'

const { org, project } = seeded

interface Looked {
  readonly params?: Readonly<Record<string, string>>
  /** What is listed is what all of these show together. */
  readonly queries?: readonly string[]
  /** Every item that there may be on that list, and some that there may not; by their ids. */
  readonly all: string
  readonly values?: readonly string[]
}

const ofOrg = { org_id: org.aurora }
const ofProject = { project_id: project.aurora }
const rulesOf = (scope: string) => `select constraint_id as id from policy_constraints where scope_type = '${scope}'`

/** Where each list is looked at, in that world. */
export const placesIn = ({ runtime }: Pick<World, 'runtime'>): Readonly<Record<string, Looked>> => ({
  'allocation.list': {
    queries: [`project_id=${project.aurora}`],
    all: 'select id from allocations where project_id = $1',
    values: [project.aurora],
  },
  'node.list': { all: 'select id from nodes' },
  'organization.list': { all: 'select id from organizations' },
  'policy.constraint.list_of_organization': { params: ofOrg, all: rulesOf('tenant') },
  'policy.constraint.list_of_platform': { all: rulesOf('global') },
  'policy.constraint.list_of_project': { params: ofProject, all: rulesOf('project') },
  'project.list': { params: ofOrg, all: 'select id from projects where org_id = $1', values: [org.aurora] },
  'role.list_of_organization': { params: ofOrg, all: `select id from role_definitions where scope_type <> 'project'` },
  'role.list_of_project': { params: ofProject, all: `select id from role_definitions where scope_type <> 'tenant'` },
  'service_account.list': { params: ofProject, all: 'select id from service_accounts' },
  'shared_runtime.attachment.list': {
    params: { ...ofOrg, shared_runtime_id: runtime },
    queries: ['state=active', 'state=detached'],
    all: 'select id from shared_runtime_attachments',
  },
  'shared_runtime.list': { params: ofOrg, all: 'select id from shared_app_runtimes' },
  'user.list': { all: 'select id from users' },
})

/** Asks one server; a server that has no time for it is asked again. */
export const asking = (live: LiveServer, base: string) => {
  const ask = async ({ authorization }: Asker, path: string): Promise<Answered> => {
    for (let attempt = 1; ; attempt += 1) {
      const answered = await live.call(null, 'GET', path, { headers: { authorization } }, base)
      if (answered.status !== 503 || attempt === 3) return answered
    }
  }

  /** The ids of a whole list, page by page; nothing where it is refused. */
  const listed = async (asker: Asker, path: string, query: string, limit: number): Promise<string[]> => {
    const ids: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, text, body } = await ask(asker, `${path}?${query}${query && '&'}limit=${limit}${cursor && `&cursor=${cursor}`}`)
      if (status === 403 || status === 404) return cursor === '' ? ids : [...ids, `refused on the way: ${text}`]
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
      ids.push(...body.items.map((item: { id?: string; project_id: string }) => item.id ?? item.project_id))
      if (body.next_cursor !== null && body.items.length !== limit) ids.push(`a page of ${body.items.length} instead of ${limit}`)
      cursor = body.next_cursor
    }
    return ids
  }

  const isAnswered = async (asker: Asker, path: string): Promise<boolean> => {
    const { status, text } = await ask(asker, path)
    if (![200, 403, 404].includes(status)) throw new Error(`${path}: ${status} ${text}`)
    return status === 200
  }
  return { listed, isAnswered }
}
export type Asking = ReturnType<typeof asking>

const filled = (path: string, params: Readonly<Record<string, string>>): string => path.replace(/:(\w+)/g, (_, name) => params[name]!)
const lastOf = ({ read }: Pair): string => /:(\w+)$/.exec(read.path)![1]!

/** One list, as one asker is to see it. */
export interface Cell {
  readonly who: string
  readonly asker: Asker
  readonly pair: Pair
  readonly looked: Looked
  /** Of these items. */
  readonly ids: readonly string[]
}

export const lookingAt = ({ listed, isAnswered }: Asking, { pair, looked: { params = {}, queries = [''] }, asker, ids }: Cell) => {
  const one = (path: string, id: string) => isAnswered(asker, filled(path, { ...params, [lastOf(pair)]: id }))
  const isRead = (id: string) => one(pair.read.path, id)
  return {
    isRead,
    /** Whether a list of what belongs to the item is answered. */
    isBelow: (id: string, list: Operation) => one(list.path, id),
    /** Which of the items are read. */
    read: async (some: readonly string[] = ids): Promise<string[]> => {
      const found = []
      for (const id of some) if (await isRead(id)) found.push(id)
      return found
    },
    /** Which are on the list, in pages of so many. */
    listed: async (size: number): Promise<string[]> => {
      const found: string[] = []
      for (const query of queries) found.push(...(await listed(asker, filled(pair.list.path, params), query, size)))
      return found
    },
  }
}
