import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import type { Statement } from './statement.ts'

const source = join(import.meta.dirname, '../..')
const files = globSync('**/*-queries.ts', { cwd: source }).sort()

/** Stands for any argument: every member of it is itself, a list of it is empty. Only the text of the statement matters here. */
const anything: unknown = new Proxy(() => {}, {
  get: (_, member) => {
    if (member === Symbol.toPrimitive) return () => 'anything'
    if (member === Symbol.iterator) return () => [].values()
    return member === 'map' ? () => [] : anything
  },
  apply: () => anything,
})

/** Statements whose text holds names that the caller knows. */
const named: Record<string, unknown[]> = {
  sealedWithOtherKeys: ['installation_secrets', 'name', 'envelope'],
  noteUseIn: ['service_account_keys'],
  replaceEnvelope: ['installation_secrets', 'name', 'envelope'],
}

/** Statements of a tenant's or a project's table, by the scope that they are given first: each is tried for both. */
const scoped = new Set([
  ...['bindingsIn', 'findBinding', 'bindingToRole', 'insertBinding', 'endBinding', 'membershipIn'],
  ...['countOnVersion', 'heldBesideVersion', 'endBindingsForUpgrade', 'insertUpgradedBindings'],
])
const scopes = ['tenant', 'project'].map((tier) => ({ tier, id: anything }))

const isStatement = (value: unknown): value is Statement<unknown> =>
  typeof value === 'object' && value !== null && ['name', 'text', 'values', 'parse'].every((member) => member in value)

const statementsOf = async (file: string): Promise<[string, Statement<unknown>][]> => {
  const exported: Record<string, unknown> = await import(join(source, file))
  return Object.entries(exported).flatMap(([name, make]) => {
    if (typeof make !== 'function') return []
    const begins = scoped.has(name) ? scopes.map((scope) => [scope]) : [named[name] ?? []]
    return begins.map((begin): [string, Statement<unknown>] => {
      const made: unknown = make(...begin, ...Array.from({ length: 12 }, () => anything))
      if (!isStatement(made)) throw new Error(`${file} exports ${name}, which makes no statement`)
      return [name, made]
    })
  })
}

const clone = databaseFixture()

/** Of a cursor its query is planned; to go on with one needs no more rights than to open it. */
const opening = /^\s*declare \w+ no scroll cursor for\b/
const isGoingOn = ({ text }: Statement<unknown>): boolean => /^\s*fetch forward \d+ from \w+\s*$/.test(text)

/** As the application's role: planning it with no values also asks whether that role may run it. */
const plan = ({ text, values }: Statement<unknown>): Promise<void> =>
  asSuperuser(clone.appUrl, async (client) => {
    await client.query(`prepare tried as ${text.replace(opening, '')}`)
    const given = values.map(() => 'null').join(', ')
    await client.query(`explain execute tried${given && `(${given})`}`)
  })

test('the statements of every room are looked at', () => {
  expect(files.map((file) => basename(file))).toEqual(
    expect.arrayContaining(['standing-queries.ts', 'binding-queries.ts', 'user-queries.ts']),
  )
  expect(files.length).toBeGreaterThan(8)
})

describe.each(files)('%s', async (file) => {
  const statements = (await statementsOf(file)).filter(([, statement]) => !isGoingOn(statement))
  test.each(statements)('PostgreSQL prepares %s, and the application may run it', async (_name, statement) => {
    await expect(plan(statement)).resolves.toBeUndefined()
  })
})

test('a statement that PostgreSQL does not understand, or that the application may not run, would be noticed', async () => {
  const statement = (text: string): Statement<unknown> => ({ name: 'x', text, values: [], parse: (row) => row })
  await expect(plan(statement('select no_such_column from users'))).rejects.toThrow('does not exist')
  await expect(plan(statement('delete from users'))).rejects.toThrow('permission denied')
})
