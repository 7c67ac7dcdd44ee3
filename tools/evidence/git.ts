import { spawnSync } from 'node:child_process'

const git = (...args: string[]): string | undefined => {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** The commit of the working tree; a tree without git has none. */
export const commitOfTree = (): string => git('rev-parse', '--short=12', 'HEAD') ?? 'none'

/** Files under these paths that differ from the commit. Without git it is not known, and that counts as a difference. */
export const uncommittedUnder = (paths: readonly string[]): string[] =>
  (git('status', '--porcelain', '--', ...paths) ?? '?? the tree has no git').split('\n').filter((line) => line !== '')
