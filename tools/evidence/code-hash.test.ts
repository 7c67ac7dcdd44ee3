import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { stateOf } from '../generate/evidence.ts'
import { codeHash } from './code-hash.ts'

let root: string
const write = (path: string, text: string) => writeFileSync(join(root, path), text)
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gatehouse-hash-'))
  mkdirSync(join(root, 'src/inner'), { recursive: true })
  write('src/a.ts', 'a')
  write('src/inner/b.ts', 'b')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const hash = () => codeHash(['src', 'one.sql'], root)

test('the hash of code: a changed, added, renamed or removed file → another hash', () => {
  const before = hash()
  write('src/inner/b.ts', 'c')
  const changed = hash()
  write('src/inner/b.ts', 'b')
  expect(hash()).toBe(before)
  write('src/new.ts', '')
  const added = hash()
  rmSync(join(root, 'src/new.ts'))
  rmSync(join(root, 'src/a.ts'))
  const removed = hash()
  write('src/z.ts', 'a')
  const renamed = hash()
  write('one.sql', 'select 1')
  expect(new Set([before, changed, added, removed, renamed, hash()]).size).toBe(6)
})

test('the hash of code: tests, documents and installed packages → the same hash', () => {
  const before = hash()
  write('src/a.test.ts', 'x')
  write('src/README.md', 'x')
  mkdirSync(join(root, 'src/node_modules'))
  write('src/node_modules/x.js', 'x')
  expect(hash()).toBe(before)
})

test('the state of a figure: never recorded, current, older than the code, short, broken', () => {
  const recorded = { verdict: 'kept', figure: '', date: '', commit: '', code: 'c0de', machine: '' } as const
  expect(stateOf(undefined, 'c0de')).toBe('**never recorded**')
  expect(stateOf(recorded, 'c0de')).toBe('kept')
  expect(stateOf(recorded, 'other')).toBe('kept, older than the code')
  expect(stateOf({ ...recorded, verdict: 'short' }, 'c0de')).toBe('**short of the goal**')
  expect(stateOf({ ...recorded, verdict: 'broken' }, 'other')).toBe('**broken**, older than the code')
})
