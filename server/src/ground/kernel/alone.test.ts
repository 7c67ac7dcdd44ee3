import { expect, test } from 'vitest'
import { alone } from './alone.ts'

test('one runs, the others are told so, and the next may run', async () => {
  let finish = () => {}
  let runs = 0
  const act = alone('verifying', () => {
    runs += 1
    return new Promise<number>((resolve) => {
      finish = () => resolve(runs)
    })
  })
  const first = act()
  await expect(act()).rejects.toMatchObject({ code: 'state_conflict', details: { state: 'verifying' } })
  finish()
  expect(await first).toBe(1)
  const second = act()
  finish()
  expect(await second).toBe(2)
})

test('one that failed leaves the way free', async () => {
  const act = alone('x', () => Promise.reject(new Error('no')))
  await expect(act()).rejects.toThrow('no')
  await expect(act()).rejects.toThrow('no')
})
