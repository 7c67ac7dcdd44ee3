import type { Append } from './append.ts'

/** Tells how many rows were handed to the chains; a transaction that fails afterwards takes its rows back, but not the count. */
export const countedAppend =
  (append: Append, onAppended: (rows: number) => void): Append =>
  async (...works) => {
    await append(...works)
    onAppended(works.reduce((rows, { trail }) => rows + trail.events.length, 0))
  }
