import { rooms as doors } from '@gatehouse/server/rooms'
import { expect, test } from 'vitest'
import { readmeOf, roomFolders, wings } from '../../tools/generate/room-folders.ts'
import { filesUnder, textOf } from './tree.ts'

const rooms: Readonly<Record<string, readonly string[]>> = Object.fromEntries(Object.entries(doors).map(([room, { sees }]) => [room, sees]))
const built = [...roomFolders.keys()]

test('every file of the server stands in a room of a wing, in process, or is one of the first three', () => {
  const first = ['main.ts', 'config.ts', 'config.test.ts', 'rooms.ts'].map((name) => `server/src/${name}`)
  const room = new RegExp(`^server/src/(?:process|(?:${wings.join('|')})/[a-z-]+)/`)
  expect(filesUnder('server/src').filter((path) => !room.test(path) && !first.includes(path))).toEqual([])
})

test.for(built)('the room %s says in at most 20 lines what it knows', (room) => {
  const path = readmeOf(room)
  expect(path, `${roomFolders.get(room)} has no README.md`).toBeDefined()
  expect(textOf(path!).trimEnd().split('\n').length).toBeLessThanOrEqual(20)
})

/** The rooms of the picture, by the line on which they are drawn. */
const drawnIn = (picture: string): Map<string, number> =>
  new Map(
    picture
      .split('\n')
      .filter((line) => line.startsWith('  │  '))
      .flatMap((line, at) => {
        const names = /^ {2}│ {2}([a-z-]+(?: (?:·|──) [a-z-]+)*)/.exec(line)?.[1]?.split(/ (?:·|──) /) ?? []
        return names.filter((name) => Object.hasOwn(rooms, name)).map((name): [string, number] => [name, at])
      }),
  )
const drawnUpwards = (drawn: ReadonlyMap<string, number>): string[] =>
  Object.entries(rooms).flatMap(([room, sees]) =>
    sees.filter((seen) => drawn.has(room) && drawn.get(seen)! < drawn.get(room)!).map((seen) => `${room} → ${seen}`),
  )

test('the picture of the architecture has every room, and none below a room that it imports', () => {
  const drawn = drawnIn(textOf('docs/architecture.md'))
  expect(built.filter((room) => !drawn.has(room))).toEqual([])
  expect(drawnUpwards(drawn)).toEqual([])
  expect(drawnUpwards(new Map([...drawn, ['tokens', 99]]))).toContain('tokens → keys')
})

/** The rooms of the README's picture by the names of its nodes, and its arrows. */
const flowIn = (text: string) => {
  const picture = /```mermaid\n([\s\S]*?)```/.exec(text)![1]!
  const named = new Map([...picture.matchAll(/(\w+)\[\[?"([a-z-]+)/g)].map(([, node, room]) => [node!, room!]))
  const arrows = picture.split('\n').flatMap((line) => {
    const steps = line.replaceAll(/\[.*?\]+/g, '').split(/-->|-\..*?\.->/)
    const nodes = steps.map((step) => step.split('&').map((node) => node.trim()))
    return nodes.slice(1).flatMap((to, at) => nodes[at]!.flatMap((from) => to.map((each): [string, string] => [from, each])))
  })
  return { named, arrows: arrows.map(([from, to]): [string, string] => [named.get(from) ?? from, named.get(to) ?? to]) }
}

test('the picture of the README has every room, and an arrow only to a room that is seen', () => {
  const { named, arrows } = flowIn(textOf('README.md'))
  const drawn = new Set([...named.values(), ...arrows.flat()])
  expect(built.filter((room) => !drawn.has(room))).toEqual([])
  expect(arrows.length).toBeGreaterThan(built.length)
  const unseen = arrows.filter(([from, to]) => from !== 'contract' && !rooms[from]?.includes(to))
  expect(unseen.map((pair) => pair.join(' → '))).toEqual([])
})
