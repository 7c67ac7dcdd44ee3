import { existsSync, readdirSync } from 'node:fs'

/** Folders of server/src that hold rooms; `process` holds no room but what starts and ends the process itself. */
export const wings = ['ground', 'rails', 'desk', 'people', 'machines', 'fleet', 'runtimes'] as const

/** The folder of each room by its name. Git keeps no empty folder, so an empty one is no room yet. */
export const roomFolders: ReadonlyMap<string, string> = new Map(
  wings.flatMap((wing) =>
    readdirSync(`server/src/${wing}`, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && readdirSync(`server/src/${wing}/${entry.name}`).length > 0)
      .map(({ name }): [string, string] => [name, `server/src/${wing}/${name}`]),
  ),
)

/** The readme of a room that is built. */
export const readmeOf = (room: string): string | undefined => {
  const path = `${roomFolders.get(room)}/README.md`
  return existsSync(path) ? path : undefined
}
