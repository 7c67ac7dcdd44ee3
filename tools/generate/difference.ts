const shown = 12

/** What a reader needs to see which source moved: the lines that only one side has, not a full diff. */
export const differenceOf = (kept: string, made: string): string => {
  const keptLines = kept.split('\n')
  const madeLines = made.split('\n')
  const inKept = new Set(keptLines)
  const inMade = new Set(madeLines)
  const lines = [
    ...keptLines.filter((line) => !inMade.has(line)).map((line) => `  - ${line}`),
    ...madeLines.filter((line) => !inKept.has(line)).map((line) => `  + ${line}`),
  ]
  if (lines.length === 0) return '  the same lines in another order'
  return lines.length > shown ? [...lines.slice(0, shown), `  … and ${lines.length - shown} more lines`].join('\n') : lines.join('\n')
}
