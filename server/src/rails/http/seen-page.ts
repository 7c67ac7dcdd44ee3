import type { Slice } from './answer.ts'

/** So many rows at a time at most. */
const longest_step = 1000

/**
 * As many rows as a page has and one more, of which each is judged by itself. What is hidden is passed over in longer and longer steps, so
 * that a list of which nothing may be seen takes few statements, however small its pages.
 */
export const seenIn = async <Row extends { readonly id: string }>(
  { limit, after }: Slice,
  readAfter: (after: string | null, limit: number) => Promise<readonly Row[]>,
  seenAmong: (rows: readonly Row[]) => Promise<readonly Row[]>,
): Promise<Row[]> => {
  const seen: Row[] = []
  for (let [from, step] = [after, limit + 1]; ; step = Math.min(step * 4, Math.max(step, longest_step))) {
    const rows = await readAfter(from, step)
    seen.push(...(await seenAmong(rows)))
    if (seen.length > limit || rows.length < step) return seen
    from = rows.at(-1)!.id
  }
}
