import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const notOurs = new Set(['node_modules', '.git', '.gatehouse', 'coverage', 'dist'])

/** Every file of the project under a folder, by its path from the root. Read from disk, so that a file not yet committed counts too. */
export const filesUnder = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !notOurs.has(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? filesUnder(path) : entry.isFile() ? [path] : []
    })

export const textOf = (path: string): string => readFileSync(path, 'utf8')

export const isTest = (path: string): boolean => /\.test\.tsx?$/.test(path)

/** The files that hold a match, each with its first matching line. Empty is what a house rule wants to see. */
export const matchesOf = (paths: readonly string[], pattern: RegExp): string[] =>
  paths.flatMap((path) => {
    const line = textOf(path)
      .split('\n')
      .findIndex((text) => pattern.test(text))
    return line < 0 ? [] : [`${path}:${line + 1}`]
  })
