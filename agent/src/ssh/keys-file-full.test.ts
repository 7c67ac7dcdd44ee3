import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { writeKeysFile } from './keys-file.ts'

describe.skipIf(process.getuid?.() !== 0)('the file of keys on a full disk', () => {
  let disk: string
  beforeEach(() => {
    disk = mkdtempSync('/var/lib/gatehouse-test-full-')
    execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'mode=0755,size=64k,nr_inodes=4', 'none', disk])
    mkdirSync(join(disk, 'keys'), { mode: 0o755 })
  })
  afterEach(() => {
    execFileSync('/usr/bin/umount', ['-l', disk])
    rmdirSync(disk)
  })
  const full = (text: string) => {
    const path = join(disk, 'keys', 'gh-abcdef')
    writeFileSync(path, text)
    writeFileSync(join(disk, 'theirs'), '')
    return path
  }

  test('SG-15 a key that is to go goes, and that it was not all done is said', async () => {
    const path = full('# generation 1\nmine\ntheirs\n')
    await expect(writeKeysFile(path, '# generation 2\nmine\n', 0)).rejects.toThrow('disk_full')
    expect(existsSync(path)).toBe(false)
    // What went made room.
    await writeKeysFile(path, '# generation 2\nmine\n', 0)
    expect(readFileSync(path, 'utf8')).toContain('mine')
  })

  test('SG-15 who fills a disk does not keep others out by it: where nothing is to go, all stays', async () => {
    const path = full('# generation 1\nmine\n')
    await expect(writeKeysFile(path, '# generation 2\nmine\ntheirs\n', 0)).rejects.toThrow('disk_full')
    expect(readFileSync(path, 'utf8')).toBe('# generation 1\nmine\n')
  })
})
