import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { patternOf } from './describe.ts'

/** As sshd reads its settings. */
export interface Files {
  readonly read: (path: string) => string
  readonly names: (folder: string) => readonly string[]
}

const quietly = <T>(act: () => T, otherwise: T): T => {
  try {
    return act()
  } catch {
    return otherwise
  }
}
const real: Files = {
  read: (path) => quietly(() => readFileSync(path, 'utf8'), ''),
  names: (folder) => quietly(() => readdirSync(folder), []),
}

/** Files that an `Include` brings in, in the order in which sshd takes them; what is not absolute lies beside its own settings. */
const included = (line: string, { names }: Files): string[] => {
  const words = line.match(/"[^"]*"|[^\s=",]+/g) ?? []
  return words.slice(1).flatMap((word) => {
    const path = resolve('/etc/ssh', word.replaceAll('"', ''))
    if (!/[*?[]/.test(path)) return [path]
    const pattern = patternOf(basename(path))
    const found = names(dirname(path)).filter((name) => !name.startsWith('.') && pattern.test(name))
    return [...found].sort().map((name) => join(dirname(path), name))
  })
}

/**
 * Whether something speaks of certain accounts or addresses before our file does: of several that speak of an account sshd takes the first.
 * sshd can be asked of one address only, so nothing may. A file that one of those brings in counts like a line of it, however deep.
 */
export const isMatchedBefore = (config: string, drop_in: string, files: Files = real): boolean => {
  let is_matched = false
  const walk = (path: string, depth: number): 'ours' | 'on' => {
    for (const line of files
      .read(path)
      .split('\n')
      .map((each) => each.trim())) {
      if (/^match\b/i.test(line)) is_matched = true
      if (!/^include\b/i.test(line) || depth >= 16) continue
      for (const each of included(line, files)) if (each === drop_in || walk(each, depth + 1) === 'ours') return 'ours'
    }
    return 'on'
  }
  return walk(config, 0) === 'ours' && is_matched
}
