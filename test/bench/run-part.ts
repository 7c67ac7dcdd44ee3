import type { FigureName } from '../../tools/evidence/figures.ts'
import { recordIfWanted } from '../../tools/evidence/records.ts'
import type { Findings } from './decide/measure.ts'

/** Runs a part of a bench and prints what it found. A broken promise makes the command end with 1; with `--record` the figure is kept. */
export const runPart = async (name: FigureName, part: () => Promise<Findings>): Promise<void> => {
  const recording = recordIfWanted(name)
  const began = performance.now()
  const { figures, promises, summary } = await part()
  console.log(`\n${figures}\n`)
  for (const { what, is_kept } of promises) console.log(`${is_kept ? 'kept  ' : 'broken'}  ${what}`)
  const areKept = promises.every(({ is_kept }) => is_kept)
  if (!areKept) process.exitCode = 1
  console.log(`(${name}: ${Math.round((performance.now() - began) / 1000)} s)`)
  recording.end({ verdict: areKept ? 'kept' : 'broken', figure: summary })
}
