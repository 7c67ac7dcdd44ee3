import { expect, test } from 'vitest'
import { seenIn } from './seen-page.ts'

const rows = Array.from({ length: 5000 }, (_, n) => ({ id: String(n).padStart(4, '0') }))
type Row = (typeof rows)[number]

const asked = async (limit: number, isSeen: (row: Row) => boolean, after: string | null = null) => {
  const steps: number[] = []
  const readAfter = async (from: string | null, step: number) => {
    steps.push(step)
    return rows.filter(({ id }) => from === null || id > from).slice(0, step)
  }
  const seen = await seenIn({ limit, after }, readAfter, async (some) => some.filter(isSeen))
  return { ids: seen.slice(0, limit + 1).map(({ id }) => id), steps }
}

test('MI-04 where all may be seen one read is enough', async () => {
  expect(await asked(2, () => true, '0001')).toEqual({ ids: ['0002', '0003', '0004'], steps: [3] })
})

test('MI-04 where nothing may be seen the steps grow, to a thousand rows and no further', async () => {
  expect(await asked(1, () => false)).toEqual({ ids: [], steps: [2, 8, 32, 128, 512, 1000, 1000, 1000, 1000, 1000] })
})

test('MI-04 every page size shows the same rows, each once', async () => {
  const isSeen = ({ id }: Row) => Number(id) % 97 === 0
  const expected = rows.filter(isSeen).map(({ id }) => id)
  for (const limit of [1, 2, 5, 53, 200]) {
    const shown: string[] = []
    for (let after: string | null = null, isMore = true; isMore; after = shown.at(-1) ?? null) {
      const { ids } = await asked(limit, isSeen, after)
      shown.push(...ids.slice(0, limit))
      isMore = ids.length > limit
    }
    expect(shown).toEqual(expected)
  }
})
