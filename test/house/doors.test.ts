import { createRequire } from 'node:module'
import { actorTypes } from '@gatehouse/contract/operation'
import { actorClasses, rooms } from '@gatehouse/server/rooms'
import { describe, expect, test } from 'vitest'
import { roomFolders, wings } from '../../tools/generate/room-folders.ts'
import { type Edge, edges } from '../../tools/generate/room-graph.ts'
import { filesUnder, isTest, matchesOf, textOf } from './tree.ts'

type Doors = Readonly<Record<string, { readonly sees: readonly string[]; readonly shows: readonly string[] }>>
const doors: Doors = rooms
const names = Object.keys(doors)

/** What is declared and not so, and what is so and not declared. */
const faultsIn = (declared: Doors, found: readonly Edge[]): string[] => {
  const sees = new Set(found.map(({ from, to }) => `${from} sees ${to}`))
  const shown = new Set(found.map(({ to, file }) => `${to} shows ${file}`))
  const isDoor = ({ file }: Edge) => file === 'room.ts'
  return [
    ...Object.entries(declared).flatMap(([room, door]) => [
      ...door.sees.filter((seen) => !sees.has(`${room} sees ${seen}`)).map((seen) => `${room} sees ${seen} and imports nothing of it`),
      ...door.shows.filter((file) => !shown.has(`${room} shows ${file}`)).map((file) => `${room} shows ${file} and nobody imports it`),
    ]),
    ...found.flatMap((edge) => [
      ...(edge.from === 'process' || declared[edge.from]?.sees.includes(edge.to) ? [] : [`${edge.from} imports from ${edge.to} unsaid`]),
      ...(isDoor(edge) || declared[edge.to]?.shows.includes(edge.file) ? [] : [`${edge.to} does not show ${edge.file} to ${edge.from}`]),
    ]),
  ]
}

describe('doors of rooms', () => {
  test('sees and shows: as declared at the doors → exactly the imports that are', () => {
    expect(edges.length).toBeGreaterThan(300)
    expect(faultsIn(doors, edges)).toEqual([])
  })

  test('sees and shows: an edge too many, one unsaid, a file too many, one not shown → each is a fault', () => {
    const { nodes } = rooms
    const wrong = { ...doors, nodes: { sees: [...nodes.sees.slice(1), 'oauth'], shows: [...nodes.shows.slice(1), 'retire-node.ts'] } }
    const faults = faultsIn(wrong, edges)
    expect(faults).toContain('nodes sees oauth and imports nothing of it')
    expect(faults).toContain(`nodes imports from ${nodes.sees[0]} unsaid`)
    expect(faults).toContain('nodes shows retire-node.ts and nobody imports it')
    expect(faults.some((fault) => fault.startsWith(`nodes does not show ${nodes.shows[0]} to `))).toBe(true)
  })

  test('rooms: every folder of a wing → has a door, and its line in rooms.ts', () => {
    expect([...roomFolders.keys()].toSorted()).toEqual(names.toSorted())
  })

  test('rooms: the list → runs downwards, each sees only rooms that stand before it', () => {
    const upwards = Object.entries(doors).flatMap(([room, { sees }]) =>
      sees.filter((seen) => names.indexOf(seen) < 0 || names.indexOf(seen) >= names.indexOf(room)).map((seen) => `${room} → ${seen}`),
    )
    expect(upwards).toEqual([])
  })

  /** Imports that climb from a wing to a higher one. This list only shrinks. */
  const climbing = ['installation → audit', 'tokens → operator-credentials', 'tokens → shared-runtimes']

  test('wings: an import from a lower wing to a higher one → none but those listed', () => {
    const height = (room: string) => {
      const wing = roomFolders.get(room)!.split('/')[2]!
      // The desk and the people's wing are of one height.
      return wing === 'desk' ? 2 : Math.max(0, wings.indexOf(wing as never) - (wings.indexOf(wing as never) > 2 ? 1 : 0))
    }
    const found = new Set(
      edges.filter(({ from, to }) => from !== 'process' && height(from) < height(to)).map(({ from, to }) => `${from} → ${to}`),
    )
    expect([...found].toSorted()).toEqual(climbing)
  })

  test('dependency-cruiser: what it reads of the doors as text → is what they say', () => {
    const { forbidden } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as {
      forbidden: { name: string; comment?: string; to: { pathNot?: string } }[]
    }
    const rule = (name: string) => forbidden.find((each) => each.name === name)
    for (const [room, { sees, shows }] of Object.entries(doors)) {
      expect(rule(`room-${room}`)?.comment).toBe(`${room} sees ${sees.length > 0 ? sees.join(', ') : 'no other room'}`)
      for (const file of shows) expect(rule(`shown-by-${room}`)?.to.pathNot).toContain(file.replaceAll('.', '\\.'))
    }
  })

  test('nouns: each → has a table that its own room owns', () => {
    const owners = new Map(
      filesUnder('db/migrations').flatMap((path) =>
        [...textOf(path).matchAll(/^-- room: ([\w-]+)(?:\ncreate table| takes) (\w+)/gm)].map(
          ([, room, table]) => [table!, room!] as const,
        ),
      ),
    )
    const strange = Object.entries(rooms).flatMap(([room, door]) =>
      'nouns' in door
        ? door.nouns.filter(({ table }) => owners.get(table) !== room).map(({ type, table }) => `${room} declares ${type}: ${table}`)
        : [],
    )
    expect(strange).toEqual([])
  })

  test('actor classes: every class of the contract, and the product itself → declared by one room', () => {
    const declared = Object.values(rooms).flatMap((door) => ('actors' in door ? door.actors.map(({ type }) => type as string) : []))
    expect(declared.toSorted()).toEqual([...actorTypes, 'system'].toSorted())
    expect(Object.entries(actorClasses).filter(([type, each]) => each.type !== type)).toEqual([])
  })

  /** Files of the rails and the desk that still ask for a class by its name. This list only shrinks. */
  const naming: readonly string[] = [
    ...['audit-log-queries'].map((name) => `desk/audit-trail/${name}.ts`),
    ...[
      'decided-by',
      'decision-queries',
      'explain-decision',
      'question',
      'read-my-permissions',
      'relations',
      'veil',
      'what-is-missing',
    ].map((name) => `desk/decisions/${name}.ts`),
    ...[
      'actions',
      'bound-roles',
      'carried-keys',
      'decide',
      'kind',
      'override-limits',
      'platform-queries',
      'platform-source',
      'read-standings',
      'service-account-standing-queries',
      'standing-queries',
    ].map((name) => `rails/authz/${name}.ts`),
    ...['observe', 'platform-mismatch'].map((name) => `rails/http/${name}.ts`),
  ].map((path) => `server/src/${path}`)

  test('actor classes: a file of http, authz, decisions, audit-trail → names none, but those listed', () => {
    const folders = ['rails/http', 'rails/authz', 'desk/decisions', 'desk/audit-trail'].map((folder) => `server/src/${folder}`)
    const files = folders.flatMap(filesUnder).filter((path) => path.endsWith('.ts') && !isTest(path) && !path.includes('/testing/'))
    const quoted = new RegExp(`'(?:${actorTypes.join('|')})'|\\b(?:${actorTypes.filter((type) => type !== 'user').join('|')}):`)
    const found = matchesOf(files, quoted).map((place) => place.split(':')[0]!)
    expect(found.toSorted()).toEqual(naming.toSorted())
  })
})
