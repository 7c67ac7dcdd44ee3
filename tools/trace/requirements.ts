import { readFile } from 'node:fs/promises'

const linesOf = async (path: string): Promise<string[]> =>
  (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))

export type Requirement = { id: string; title: string }

export const readRequirements = async (): Promise<Requirement[]> =>
  (await linesOf('docs/requirements.txt')).map((line) => ({ id: line.slice(0, 5), title: line.slice(6) }))

export const openPath = 'docs/open-requirements.txt'

export const readOpen = (): Promise<string[]> => linesOf(openPath)

export const openList = (ids: readonly string[]): string =>
  [
    '# Requirements that no passing test proves yet. It never grows; `npm run trace -- --write` takes off what is proved now.',
    ...ids,
    '',
  ].join('\n')
