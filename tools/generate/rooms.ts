import { createRequire } from 'node:module'
import { type Document, tableOf } from './document.ts'
import { readmeOf } from './room-folders.ts'

const { rooms } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as { rooms: Record<string, string[]> }

/** An arrow that follows from two others says nothing, so the drawing leaves it out; the table keeps it. */
const directOf = (sees: readonly string[]): string[] => sees.filter((room) => !sees.some((other) => rooms[other]?.includes(room)))

const make = async (): Promise<string> => {
  const built = Object.entries(rooms).filter(([room]) => readmeOf(room))
  const arrows = built.flatMap(([room, sees]) => directOf(sees).map((seen) => `  ${room} --> ${seen}`))
  return [
    '# Rooms',
    '',
    'Written by `npm run generate` from the table in `.dependency-cruiser.cjs`. A room sees only what its row names.',
    '',
    tableOf(
      ['room', 'sees'],
      built.map(([room, sees]) => [`[${room}](../../${readmeOf(room)})`, sees.join(', ') || 'nothing']),
    ),
    '',
    '```mermaid',
    'flowchart TD',
    ...built.map(([room]) => `  ${room}`),
    ...arrows,
    '```',
    '',
  ].join('\n')
}

export const roomsDocument: Document = { path: 'docs/generated/rooms.md', make }
