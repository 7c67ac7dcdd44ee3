import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of a few megabytes that can be filled and freed; null where this process may not mount one. */
export const smallDisk = (megabytes: number) => {
  const folder = mkdtempSync(join(tmpdir(), `gatehouse-run-${process.pid}-`))
  try {
    execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    rmdirSync(folder)
    return null
  }
  const filler = join(folder, 'filler')
  return {
    folder,
    fill: () => {
      const file = openSync(filler, 'w')
      const bytes = Buffer.alloc(4096, 1)
      try {
        for (;;) writeSync(file, bytes)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(filler, { force: true }),
    left: () => {
      const { bavail, bsize } = statfsSync(folder)
      return bavail * bsize
    },
    remove: () => {
      execFileSync('/bin/umount', [folder])
      rmdirSync(folder)
    },
  }
}
