import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pieces } from './pieces.ts'

const rooms = ['server/src/rails/authz', 'server/src/rails/policies']
const files = rooms.flatMap((room) => readdirSync(room).map((name) => `${room}/${name}`)).filter((file) => file.endsWith('.ts'))
/** What holds declarations and no logic: the compiler and the house test of doors look after it. */
const isDeclared = (file: string) => /\/(?:room|actor-class)\.ts$/.test(file)
const isTest = (file: string) => file.endsWith('.test.ts')

test('DE-13 every file of the two rooms is in one piece, so that none is left without mutants', () => {
  expect(pieces.flatMap((piece) => piece.files).sort()).toEqual(files.filter((file) => !isTest(file) && !isDeclared(file)).sort())
})

test('DE-13 the tests of a piece are there, and every test of the two rooms is in a piece, but the laws by chance', () => {
  const named = new Set(pieces.flatMap(({ tests }) => tests))
  expect([...named].filter((file) => !existsSync(file))).toEqual([])
  expect(files.filter((file) => isTest(file) && !named.has(file))).toEqual(['server/src/rails/authz/decide.prop.test.ts'])
  for (const { tests, needs_database = false } of pieces)
    expect([tests, tests.some((file) => file.endsWith('.db.test.ts'))]).toEqual([tests, needs_database])
})
