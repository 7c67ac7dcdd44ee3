import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { figures } from '../../tools/evidence/figures.ts'
import { faultsOf, promisesIn, readPromises } from '../../tools/evidence/promises.ts'
import { textOf } from './tree.ts'

test('every promise of SECURITY.md: tests that exist and name its requirements prove it, and its figures exist', () => {
  const promises = readPromises()
  expect(promises.length).toBeGreaterThan(30)
  expect(promises.flatMap(faultsOf)).toEqual([])
})

test('every row of the table of promises is read', () => {
  const [, section] = textOf('SECURITY.md').split('## What we promise')
  const rows = section!
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'))
  expect(readPromises()).toHaveLength(rows.length - 2)
})

test('a promise without a test, with a test or a figure that does not exist, or with a foreign requirement → found', () => {
  const table = (proof: string) =>
    promisesIn(`## What we promise\n| promise | proof |\n|---|---|\n| It holds. | ${proof} |\n## Next\n| a | b |\n`)
  const faults = (proof: string) => table(proof).flatMap(faultsOf)
  expect(table('')).toHaveLength(1)
  expect(faults('our word')).toEqual(['It holds.: no test proves it'])
  expect(faults('`test/house/gone.test.ts`')).toEqual(['It holds.: test/house/gone.test.ts does not exist'])
  expect(faults('`test/house/tree.test.ts`, ZZ-99')).toEqual(['It holds.: none of its tests names ZZ-99'])
  expect(faults('`test/house/tree.test.ts`; [guesses](docs/evidence.md#guesses)')).toEqual(['It holds.: there is no figure guesses'])
  expect(faults('`test/house/tree.test.ts`; [kills](docs/evidence.md#kills)')).toEqual([])
})

test('every figure speaks of code that exists', () => {
  expect(Object.values(figures).flatMap(({ paths }) => paths.filter((path) => !existsSync(path)))).toEqual([])
})
