import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectsIn } from '../../server/src/people/tenancy/project-queries.ts'
import { type Listed, listed, type Verb } from '../../server/src/rails/http/answer.ts'
import type { ServerParts } from '../../server/src/rails/http/server.ts'
import { type LiveServer, liveServer, seeded } from '../live-server.ts'
import { fewAtOnce } from '../matrix/walk.ts'
import { sweep } from '../sweep.ts'
import { asking, type Cell, lookingAt, placesIn } from './compare.ts'
import { nested, type Pair, pairs } from './pairs.ts'
import { hideSome, hideType, resourceTypes } from './rules.ts'
import { type World, writeWorld } from './world.ts'

const { org, project } = seeded

let live: LiveServer
let world: World
beforeAll(async () => {
  live = await liveServer()
  world = await writeWorld(live)
})
afterAll(() => live.stop())

/** Every list with everybody whom it admits. */
const cellsOf = async (some: readonly Pair[], isMeant: (who: string) => boolean = () => true): Promise<Cell[]> => {
  const places = placesIn(world)
  const cells = []
  for (const pair of some) {
    const looked = places[pair.list.id]
    if (!looked) throw new Error(`${pair.list.id} is looked at nowhere: test/lists/compare.ts says where`)
    const rows = await live.sql<{ id: string }>(`${looked.all} order by 1`, [...(looked.values ?? [])])
    const ids = rows.map(({ id }) => id)
    for (const [who, asker] of world.askers)
      if (pair.list.actors.includes(asker.type) && isMeant(who)) cells.push({ who, pair, looked, asker, ids })
  }
  return cells
}

const sizes = [1, 2, 5, 53, 200]
const wordsOf = ({ pair, who }: Cell, difference: string | undefined): string[] =>
  difference ? [`${pair.list.id} for ${who}: ${difference}`] : []
const differenceOf = (expected: readonly string[], found: readonly string[]): string | undefined => {
  const hidden = expected.filter((id) => !found.includes(id)).length
  const shown = found.filter((id) => !expected.includes(id)).length
  const twice = found.length - new Set(found).size
  return hidden + shown + twice === 0 ? undefined : `${hidden} hidden, ${shown} shown and not read, ${twice} twice`
}

describe('a rule over things of one kind', () => {
  // Whom rules reach, one of each kind.
  const reached = [
    'the tenant’s owner',
    'a viewer of the project',
    'the platform’s operations',
    'a service account',
    'the runtime’s operator',
  ]

  test('D8 hides them from lists as from single reads; what belongs to one of them is listed where that is read', async () => {
    const voice = asking(live, live.url)
    // Rules only take away: who sees nothing before them need not be asked again.
    const seen = await fewAtOnce(await cellsOf(pairs, (who) => reached.includes(who)), async (cell) => {
      const whole = await lookingAt(voice, cell).listed(200)
      return whole.length === 0 ? [] : [{ cell, ids: [whole[0]!, whole.at(-1)!] }]
    })
    const within = nested.flatMap(({ list, read }) =>
      seen.flat().flatMap((each) => (each.cell.pair.read === read ? [{ list, ...each }] : [])),
    )
    expect([...new Set(within.map(({ list }) => list.id))]).toHaveLength(nested.length)
    const faults: string[] = []
    for (const type of sweep('hidden types', resourceTypes, 1)) {
      const end = await hideType(live, type)
      await fewAtOnce(seen.flat(), async ({ cell, ids }) => {
        const looking = lookingAt(voice, cell)
        const found = (await looking.listed(200)).filter((id) => ids.includes(id))
        faults.push(...wordsOf(cell, differenceOf(await looking.read([...new Set(ids)]), found)).map((words) => `${type} hidden: ${words}`))
      })
      await fewAtOnce(within, async ({ list, cell, ids: [id] }) => {
        const { isRead, isBelow } = lookingAt(voice, cell)
        if ((await isRead(id!)) !== (await isBelow(id!, list))) faults.push(`${type} hidden: ${list.id} for ${cell.who}`)
      })
      await end()
    }
    expect(faults).toEqual([])
  })
})

/**
 * What is wrong with these lists, in pages of each size. Where somebody is refused the list, a part of the items is read; and so where he
 * sees what somebody before him saw, and then his pages are not turned one by one again.
 */
const faultsOf = async (cells: readonly Cell[], base = live.url): Promise<string[]> => {
  const voice = asking(live, base)
  const turned = new Set<string>()
  const found = await fewAtOnce(cells, async (cell) => {
    const looking = lookingAt(voice, cell)
    const whole = await looking.listed(200)
    const seen = `${cell.pair.list.id} ${whole.join()}`
    const isKnown = turned.has(seen) || whole.length === 0
    turned.add(seen)
    // Of no number by which rules are spread over things.
    const asked = isKnown ? cell.ids.filter((_, n) => n % 11 === 0) : cell.ids
    const expected = await looking.read(asked)
    const faults = [differenceOf(expected, isKnown ? whole.filter((id) => asked.includes(id)) : whole)]
    if (!isKnown) for (const size of sizes) faults.push(differenceOf(expected, await looking.listed(size)))
    return faults.flatMap((fault) => wordsOf(cell, fault))
  })
  return found.flat()
}

describe('where rules hide some', () => {
  beforeAll(() => hideSome(live, world))

  test('D8 every list shows exactly what single reads do, whatever its pages', { timeout: 300_000 }, async () => {
    expect(await faultsOf(await cellsOf(sweep('lists', pairs, 2)))).toEqual([])
  })

  const runtimeIn = (id: string, more: string) => `/api/v1/orgs/${org.aurora}/shared-app-runtimes/${id}${more}`

  test('D8 an operator’s list of allocations has exactly those that it may name, whatever its pages', async () => {
    const operator = world.askers.get('the runtime’s operator')!
    const rows = await live.sql<{ id: string }>(
      'select id from allocations where org_id = $1 and (project_id <> $2 or gpus = 3) order by id',
      [org.aurora, project.aurora],
    )
    const expected: string[] = []
    for (const [n, { id: allocation_id }] of rows.entries()) {
      const members = [{ name: 'a', role: 'worker', state: 'ready', allocation_id }]
      const { status } = await live.call(null, 'PUT', runtimeIn(world.runtime, '/members'), {
        body: { sequence: n + 1, members },
        headers: { authorization: operator.authorization },
      })
      expect([200, 403]).toContain(status)
      if (status === 200) expected.push(allocation_id)
    }
    expect(expected.length).toBeGreaterThan(5)
    const found = (size: number) => asking(live, live.url).listed(operator, runtimeIn(world.runtime, '/allocations'), '', size)
    for (const size of sizes) expect([size, differenceOf(expected, await found(size))]).toEqual([size, undefined])
  })

  test('D8 projects are eligible that one may read and attach, and no others', async () => {
    const owner = world.askers.get('the tenant’s owner')!
    const voice = asking(live, live.url)
    const found = await Promise.all(
      sizes.map((size) => voice.listed(owner, runtimeIn(world.other_runtime, '/eligible-projects'), '', size)),
    )
    const left = await live.sql<{ id: string }>(
      `select id from projects where org_id = $1 and state = 'active' and id not in (
         select project_id from shared_runtime_attachments where shared_runtime_id = $2) order by id`,
      [org.aurora, world.other_runtime],
    )
    const expected: string[] = []
    for (const { id: project_id } of left) {
      const { status } = await live.call('alice', 'POST', runtimeIn(world.other_runtime, '/attachments'), {
        body: { project_id, contribution_policy: 'none' },
      })
      expect([201, 403]).toContain(status)
      if (status === 201 && (await voice.isAnswered(owner, `/api/v1/projects/${project_id}`))) expected.push(project_id)
    }
    expect(expected.length).toBeGreaterThan(5)
    expect(found.map((ids) => differenceOf(expected, ids))).toEqual(sizes.map(() => undefined))
  })

  type Page = Listed<{ id: string }>
  type Asked = Parameters<Verb<{ org_id: string }, unknown, unknown, unknown>>
  /** A build whose list of projects is another. */
  const withProjects = (changed: (page: Page, ...asked: Asked) => Page | Promise<Page>) => (parts: ServerParts) => ({
    ...parts,
    answers: parts.answers.map((each) => {
      if (each.operation.id !== 'project.list' || !('verb' in each)) return each
      const verb = each.verb as unknown as (...asked: Asked) => Promise<Page>
      return { ...each, verb: async (...asked: Asked) => changed(await verb(...asked), ...asked) }
    }) as ServerParts['answers'],
  })

  test.each([
    [
      'judges only the whole',
      withProjects(async (_page, work, { params, slice }) =>
        listed(await work.tx.many(projectsIn(params.org_id, slice.after, slice.limit + 1)), slice, ({ id }) => id),
      ),
    ],
    ['leaves one out', withProjects(({ items, after }) => ({ items: items.slice(1), after }))],
    [
      'shows one twice',
      withProjects(({ items, after }) => ({ items: items.flatMap((item, n) => (n === 0 ? [item, item] : [item])), after })),
    ],
    ['ends too early', withProjects(({ items }) => ({ items, after: null }))],
  ])('D8 a list is found that %s', async (_, changed) => {
    const { url } = await live.replica(changed)
    const projects = pairs.filter(({ list }) => list.id === 'project.list')
    expect(await faultsOf(await cellsOf(projects, (who) => who === 'a member of the tenant'), url)).not.toEqual([])
  })
})
