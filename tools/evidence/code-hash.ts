import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const skippedFolders = new Set(['node_modules', '.git', '.gatehouse', 'coverage', 'dist'])
/** Tests and documents do not change what the product does. */
const isCode = (name: string): boolean => !/\.test\.tsx?$|\.md$/.test(name)

const codeUnder = (root: string, path: string): string[] => {
  if (!statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory()) return [path]
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter(({ name }) => !skippedFolders.has(name))
    .flatMap((entry) => {
      const inside = `${path}/${entry.name}`
      return entry.isDirectory() ? codeUnder(root, inside) : entry.isFile() && isCode(entry.name) ? [inside] : []
    })
}

/** A hash of the names and contents of all code under these paths. It needs no git history, so every clone computes the same one. */
export const codeHash = (paths: readonly string[], root = '.'): string => {
  const hash = createHash('sha256')
  for (const path of [...new Set(paths.flatMap((each) => codeUnder(root, each)))].sort()) {
    const content = statSync(join(root, path), { throwIfNoEntry: false }) ? readFileSync(join(root, path)) : 'absent'
    hash.update(`${path}\n${createHash('sha256').update(content).digest('hex')}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}
