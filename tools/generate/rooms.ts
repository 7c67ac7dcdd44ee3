import { rooms } from '@gatehouse/server/rooms'
import { type Document, tableOf } from './document.ts'
import { roomFolders, wings } from './room-folders.ts'
import { edges, tablesOf } from './room-graph.ts'

type Room = keyof typeof rooms
const names = Object.keys(rooms) as Room[]

/** The rooms that a room imports from, as its files do it. */
const seenBy = (room: string): string[] => names.filter((name) => edges.some(({ from, to }) => from === room && to === name))
/** An arrow that follows from two others says nothing, so the drawing leaves it out; the table keeps it. */
const directOf = (room: string): string[] => {
  const sees = seenBy(room)
  return sees.filter((seen) => !sees.some((other) => seenBy(other).includes(seen)))
}

const inWing = (wing: string) => names.filter((room) => roomFolders.get(room)?.startsWith(`server/src/${wing}/`))

const make = async (): Promise<string> =>
  [
    '# Rooms',
    '',
    'Written by `npm run generate` from the imports and statements of the server. What a room may see and shows is declared at its door,',
    '`room.ts`; a room that sees or shows what nobody uses fails `test/house/doors.test.ts`.',
    ...wings.flatMap((wing) => [
      '',
      `## ${wing}`,
      '',
      tableOf(
        ['room', 'imports from', 'imported files', 'tables that its statements name'],
        inWing(wing).map((room) => [
          `[${room}](../../${roomFolders.get(room)}/README.md)`,
          seenBy(room).toReversed().join(', ') || 'nothing',
          rooms[room].shows.join(', ') || 'none',
          tablesOf.get(room)?.join(', ') || 'none',
        ]),
      ),
    ]),
    '',
    '## Drawn',
    '',
    '```mermaid',
    'flowchart TD',
    ...wings.flatMap((wing) => [`  subgraph ${wing}`, ...inWing(wing).map((room) => `    ${room}`), '  end']),
    ...names.flatMap((room) => directOf(room).map((seen) => `  ${room} --> ${seen}`)),
    '```',
    '',
  ].join('\n')

export const roomsDocument: Document = { path: 'docs/generated/rooms.md', make }
