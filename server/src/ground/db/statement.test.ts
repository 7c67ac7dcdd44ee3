import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { expect, test } from 'vitest'
import { columns, sql } from './statement.ts'

const Row = Exactly({ id: Type.String(), count: Type.Integer() })

test('values become numbered parameters and never text', () => {
  const hostile = "'; drop table users; --"
  const { text, values } = sql(Row)`select id, count from things where id = ${hostile} and count > ${3} or id = ${hostile}`
  expect(text).toBe('select id, count from things where id = $1 and count > $2 or id = $3')
  expect(values).toEqual([hostile, 3, hostile])
})

test('the select list comes from the shape, with the table that it is taken from', () => {
  expect(sql(Row)`select ${columns(Row)} from things where id = ${'x'}`).toMatchObject({
    text: 'select id, count from things where id = $1',
    values: ['x'],
  })
  expect(sql(Row)`select ${columns(Row, 't')} from things t`.text).toBe('select t.id, t.count from things t')
})

test('an object that looks like a fragment is a value', () => {
  expect(sql(Row)`select ${{ text: 'now()' }}`).toMatchObject({ text: 'select $1', values: [{ text: 'now()' }] })
})

test('one text has one name, whatever its values; another text has another', () => {
  const find = (id: string) => sql(Row)`select id, count from things where id = ${id}`
  expect(find('a').name).toBe(find('b').name)
  expect(find('a').name).not.toBe(sql(Row)`select id, count from things where id =  ${'a'}`.name)
  // PostgreSQL cuts a name at 63 bytes; a cut one could meet another.
  expect(find('a').name).toMatch(/^g_[0-9a-f]{24}$/)
})

test('a row that does not have its shape is refused, and its values are not repeated', () => {
  const { parse } = sql(Row)`select`
  expect(parse({ id: 'a', count: 1 })).toEqual({ id: 'a', count: 1 })
  for (const row of [{ id: 'a' }, { id: 'a', count: '1' }, { id: 'a', count: 1, more: 'hunter2' }, null, 'hunter2'])
    expect(() => parse(row)).toThrow(/^a row does not have its shape: /)
  expect(() => parse({ id: 'a', count: 'hunter2' })).not.toThrow('hunter2')
})
