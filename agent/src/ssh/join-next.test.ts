import { expect, test } from 'vitest'
import { joinNext } from './join-next.ts'

test('SG-25 who asks while a look is under way gets the next one, together with all others who do', async () => {
  const gates: (() => void)[] = []
  let looks = 0
  const look = joinNext(async () => {
    looks += 1
    const number = looks
    await new Promise<void>((resolve) => gates.push(resolve))
    return number
  })
  const first = look()
  const [second, third] = [look(), look()]
  gates[0]!()
  expect(await first).toBe(1)
  await new Promise(setImmediate)
  gates[1]!()
  expect(await Promise.all([second, third])).toEqual([2, 2])
  expect(looks).toBe(2)
})

test('SG-25 one that fails fails for those who wait for it, and the next one looks again', async () => {
  let looks = 0
  const look = joinNext(async () => {
    looks += 1
    if (looks === 1) throw new Error('no')
    return looks
  })
  const [first, second] = [look(), look()]
  await expect(first).rejects.toThrow('no')
  expect(await second).toBe(2)
})
