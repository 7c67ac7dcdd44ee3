import { expect, test } from 'vitest'
import { filesUnder, matchesOf } from './tree.ts'

const texts = filesUnder('.').filter((path) =>
  /\.(?:[cm]?[jt]sx?|json|md|txt|sql|sh|ya?ml|rego)$|(?:^|\/)(?:\.npmrc|\.gitignore|run)$/.test(path),
)

// A path that begins at a person's or a machine's own folder means nothing to anybody else.
const here = new RegExp(`${process.cwd().replace(/[^\w/]/g, '\\$&')}\\b`)
const machinePath = /(?<![\w.)}*~-])\/(?:work|home|Users)\/\w/

test('nothing in the tree points into the machine it was written on', () => {
  expect(matchesOf(texts, machinePath)).toEqual([])
  expect(matchesOf(texts, here)).toEqual([])
})

test('a machine path is told from a room called work', () => {
  expect(machinePath.test(`"${['', 'home', 'me', 'x'].join('/')}"`)).toBe(true)
  expect(machinePath.test("import { x } from '../work/work.ts'")).toBe(false)
})

test('nothing in the tree names the registry that packages came from', () => {
  expect(
    matchesOf(texts, /"resolved":\s*"https?:|^registry\s*=|https?:\/\/[\w.-]*(?:registry|mirror|artifactory|verdaccio|nexus)\b/),
  ).toEqual([])
})
