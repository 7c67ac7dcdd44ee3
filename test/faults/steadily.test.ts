import { expect, test } from 'vitest'
import { steadily } from './steadily.ts'

test('a change between two reads → both are read again', async () => {
  const tables = { record: ['one'], state: ['one'] }
  let left = 3
  const read = async () => {
    const record = [...tables.record]
    if (left > 0) {
      left -= 1
      tables.record.push('more')
      tables.state.push('more')
    }
    return { record, state: [...tables.state] }
  }
  const { record, state } = await steadily(async () => tables.record.length, read)
  expect(record).toEqual(state)
  expect(record).toHaveLength(4)
})

test('a world that never rests → an error, and no verdict', async () => {
  let heads = 0
  await expect(
    steadily(
      async () => heads++,
      async () => 'read',
    ),
  ).rejects.toThrow('does not come to rest')
})
