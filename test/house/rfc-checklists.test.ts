import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { textOf } from './tree.ts'

const checklists = 'docs/rfc-checklists.md'
const lines = textOf(checklists)
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| section'))
/** A line that claims several things names several tests. */
const held = lines.flatMap((line) =>
  [...(line.split(' | ').at(-1) ?? '').matchAll(/`([^`]+\.test\.ts)`: "([^"]+)"(?=; | \|$)/g)].map(([, file, title]) => ({
    line,
    file,
    title,
  })),
)

/** Whether a file has a test of these words: in its title, or in a row that its title is made from. */
const has = (file: string, title: string): boolean => existsSync(file) && textOf(file).includes(title)

describe('the checklists', () => {
  test('TI-17 every line names a test', () => {
    expect(lines.filter((line) => !held.some((each) => each.line === line))).toEqual([])
    // Nothing that looks like a test is left unread.
    for (const line of lines) expect(line.match(/\.test\.ts`/g)).toHaveLength(held.filter((each) => each.line === line).length)
    expect(held.length).toBeGreaterThan(40)
  })

  test.for(held)('TI-17 $title of $line', ({ file, title }) => {
    expect([file, title, has(file!, title!)]).toEqual([file, title, true])
  })

  test('TI-17 every section of RFC 8725 is there', () => {
    const sections = lines.map((line) => /^\| (3\.\d+)\b/.exec(line)?.[1])
    expect(Array.from({ length: 12 }, (_, n) => `3.${n + 1}`).filter((section) => !sections.includes(section))).toEqual([])
  })

  test('TI-17 every section of recommendations of RFC 9700 is there', () => {
    const all = lines.join('\n')
    for (const section of ['2.1', '2.1.1', '2.1.2', '2.2.1', '2.2.2', '2.3', '2.4', '2.5', '2.6', '4.13'])
      expect(all).toMatch(new RegExp(`[| ,]${section.replaceAll('.', '\\.')} `))
  })

  test('the search can fail: a test that is not there is not found', () => {
    expect(has('test/house/rfc-checklists.test.ts', ['words that', 'nobody wrote'].join(' '))).toBe(false)
    expect(has('test/house/none.test.ts', 'every line names a test')).toBe(false)
  })
})
