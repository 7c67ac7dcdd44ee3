import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { watchFolders } from './watch-folders.ts'

const watched = () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-watch-'))
  mkdirSync(join(folder, 'room'))
  writeFileSync(join(folder, 'room/old.ts'), '')
  const seen: string[] = []
  const { stop } = watchFolders([folder], (file) => seen.push(relative(folder, file)))
  onTestFinished(() => {
    stop()
    rmSync(folder, { recursive: true, force: true })
  })
  /** What was reported since the last call, each file once. */
  const reported = async (wanted: string) => {
    await expect.poll(() => seen, { interval: 10 }).toContain(wanted)
    return [...new Set(seen.splice(0))].sort()
  }
  return { at: (path: string) => join(folder, path), reported }
}

test('HO-01 npm run dev: a file is written, renamed over or removed → the file is reported', async () => {
  const { at, reported } = watched()
  appendFileSync(at('room/old.ts'), '// more')
  expect(await reported('room/old.ts')).toEqual(['room/old.ts'])
  // As an editor saves: a new file takes the name.
  writeFileSync(at('room/.old.ts.swp'), 'new')
  renameSync(at('room/.old.ts.swp'), at('room/old.ts'))
  expect(await reported('room/old.ts')).toEqual(['room/old.ts'])
  rmSync(at('room/old.ts'))
  expect(await reported('room/old.ts')).toEqual(['room/old.ts'])
})

test('HO-01 npm run dev: a new folder, and one that was removed and made again → their files are reported', async () => {
  const { at, reported } = watched()
  mkdirSync(at('late/deep'), { recursive: true })
  writeFileSync(at('late/deep/first.sql'), '')
  expect(await reported('late/deep/first.sql')).toEqual(['late/deep/first.sql'])
  appendFileSync(at('late/deep/first.sql'), '-- more')
  expect(await reported('late/deep/first.sql')).toEqual(['late/deep/first.sql'])
  rmSync(at('late'), { recursive: true })
  mkdirSync(at('late'))
  // Changes are heard in their order: whoever hears of this one has heard of those before.
  appendFileSync(at('room/old.ts'), '// more')
  await reported('room/old.ts')
  writeFileSync(at('late/again.json'), '{}')
  expect(await reported('late/again.json')).toEqual(['late/again.json'])
})

test('HO-01 npm run dev: tests, swap files, backups and documents change → nothing is reported', async () => {
  const { at, reported } = watched()
  for (const name of ['old.test.ts', '.old.ts.swp', 'old.ts~', '4913', 'README.md']) writeFileSync(at(`room/${name}`), 'x')
  appendFileSync(at('room/old.ts'), '// more')
  expect(await reported('room/old.ts')).toEqual(['room/old.ts'])
})
