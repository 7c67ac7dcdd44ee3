import { readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { sourceFolders } from './source-folders.ts'

type Kind = 'unit' | 'db' | 'e2e'

const kindOf = (path: string): Kind => (/\.(db|e2e)\.test\.ts$/.exec(path)?.[1] ?? 'unit') as Kind

/** Every test file of the project, by its path from the root. */
const testFiles = (): string[] => {
  const found: string[] = []
  const walk = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name === 'node_modules') continue
      if (entry.isDirectory()) walk(join(folder, entry.name))
      else if (entry.name.endsWith('.test.ts')) found.push(join(folder, entry.name))
    }
  }
  for (const folder of sourceFolders) walk(folder)
  return found
}

/** As Vitest matches: the path contains the word, or the word is a path itself. */
const matches = (file: string, word: string) =>
  [word, relative('.', resolve(word))].some((text) => file.toLowerCase().includes(text.toLowerCase()))

/**
 * Vitest's project filters that leave out the projects without a file that matches; undefined where no file matches at all. Each project
 * costs a Vite server at start. Words that are no part of a path, as options of Vitest, only match more and so leave out less.
 */
export const neededProjects = (words: readonly string[], files = testFiles()): string[] | undefined => {
  const kinds = new Set(files.filter((file) => words.some((word) => matches(file, word))).map(kindOf))
  if (kinds.size === 0) return undefined
  return (['unit', 'db', 'e2e'] as const).filter((kind) => !kinds.has(kind)).map((kind) => `!${kind}*`)
}
