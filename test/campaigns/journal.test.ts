import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Opening, openJournal } from './journal.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-campaign-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = (changed: Partial<Opening> = {}) =>
  openJournal<{ n: number }>({ campaign: 'trial', commit: 'abc', code: 'c0de', settings: { seed: 7 }, folder, mode: 'new', ...changed })
const resume = (changed: Partial<Opening> = {}) => open({ mode: 'resume', ...changed })

/** A journal with two finished units, as a killed run leaves it. */
const interrupted = () => {
  const { finish, path } = open()
  finish({ n: 1 })
  finish({ n: 2 })
  return path
}

test('resume: a killed run → the finished units are there, and the next one follows them', () => {
  interrupted()
  const again = resume()
  expect(again.units).toEqual([{ n: 1 }, { n: 2 }])
  again.finish({ n: 3 })
  expect(resume().units).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
})

test('resume: a last line that was cut at any byte → it is ignored, and the next unit starts a line of its own', () => {
  const path = interrupted()
  const whole = readFileSync(path, 'utf8')
  const line = `${JSON.stringify({ unit: { n: 3 }, seconds: 1 })}\n`
  for (let length = 0; length < line.length; length += 1) {
    writeFileSync(path, whole)
    appendFileSync(path, line.slice(0, length))
    const again = resume()
    expect(again.units).toEqual([{ n: 1 }, { n: 2 }])
    again.finish({ n: 4 })
    expect(resume().units).toEqual([{ n: 1 }, { n: 2 }, { n: 4 }])
  }
})

test('resume: a cut first line → there is nothing to resume', () => {
  const path = interrupted()
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 20))
  expect(() => resume()).toThrow('There is no journal')
})

test('resume: seconds → the sum over all runs', () => {
  const path = interrupted()
  const [head, ...rest] = readFileSync(path, 'utf8').trimEnd().split('\n')
  writeFileSync(path, `${[head, ...rest.map((line, at) => JSON.stringify({ ...JSON.parse(line), seconds: 100 * (at + 1) }))].join('\n')}\n`)
  expect(resume().seconds()).toBe(300)
})

test('resume: another commit, other code or other settings → refused with a sentence that says which', () => {
  const path = interrupted()
  expect(() => resume({ commit: 'def' })).toThrow('Journals of other commits or seeds: trial-abc-7.jsonl.')
  expect(() => resume({ settings: { seed: 8 } })).toThrow('There is no journal')
  expect(() => resume({ code: 'other' })).toThrow('The code has changed')
  expect(() => resume({ settings: { seed: 7, fsync: true } })).toThrow('{"seed":7}, and this run has {"seed":7,"fsync":true}')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"abc"', '"def"'))
  expect(() => resume()).toThrow('belongs to commit def')
})

test('a damaged line in the middle → refused with its number', () => {
  const path = interrupted()
  writeFileSync(path, readFileSync(path, 'utf8').replace('{"unit":{"n":1}', '{"unit":'))
  expect(() => resume()).toThrow('Line 2 of the journal')
})

test('new: an unfinished journal → refused, so that nobody loses hours by a forgotten flag; restart discards it', () => {
  interrupted()
  expect(() => open()).toThrow('2 finished units. --resume continues it, --restart discards it.')
  expect(open({ mode: 'restart' }).units).toEqual([])
})

test('new: a complete journal → begun again; resume goes on with it', () => {
  interrupted()
  const again = resume()
  again.complete()
  expect(resume().units).toHaveLength(2)
  resume().finish({ n: 3 })
  expect(() => open()).toThrow('finished units')
  resume().complete()
  expect(open().units).toEqual([])
})
