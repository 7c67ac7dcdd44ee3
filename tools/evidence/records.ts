import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { codeHash } from './code-hash.ts'
import { type FigureName, figures } from './figures.ts'
import { commitOfTree, uncommittedUnder } from './git.ts'

/** `short`: nothing was violated, but the run was smaller than the goal asks. */
export type Verdict = 'kept' | 'broken' | 'short'

export interface Found {
  readonly verdict: Verdict
  readonly figure: string
  /** What the run does not cover, and why. */
  readonly note?: string
}

export interface Recorded extends Found {
  readonly date: string
  readonly commit: string
  /** Of the figure's paths when it was measured. */
  readonly code: string
  readonly machine: string
}

const recordsPath = 'docs/evidence/records.json'

export const readRecords = (): Partial<Record<FigureName, Recorded>> =>
  existsSync(recordsPath) ? JSON.parse(readFileSync(recordsPath, 'utf8')) : {}

const writeRecord = (name: FigureName, record: Recorded) => {
  const records = { ...readRecords(), [name]: record }
  const inOrder = (Object.keys(figures) as FigureName[]).flatMap((each) => (records[each] ? [[each, records[each]] as const] : []))
  writeFileSync(recordsPath, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`)
}

const load = () => loadavg()[0]!.toFixed(1)

/**
 * Begins a run that is to be recorded, or says why it cannot be. The tree is looked at before the run, because a figure of code that
 * no commit has is worth nothing, and the run may take hours.
 */
const beginRecord = (name: FigureName) => {
  const { paths } = figures[name]
  const changed = uncommittedUnder(paths)
  if (changed.length > 0)
    throw new Error(`Commit first: a recorded figure belongs to a commit, and these files differ from it:\n${changed.join('\n')}`)
  const [commit, code, load_before] = [commitOfTree(), codeHash(paths), load()]
  return {
    /** Writes the record; the next `npm run generate` puts it into docs/evidence.md. */
    end: (found: Found) => {
      if (codeHash(paths) !== code) throw new Error('The code changed during the run, so nothing was recorded.')
      const machine = `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), load ${load_before} before, ${load()} after`
      writeRecord(name, { date: new Date().toISOString().slice(0, 10), commit, code, machine, ...found })
      console.log(`recorded as ${name}; \`npm run generate\` writes it into docs/evidence.md`)
    },
  }
}

/** With `--record` among the arguments a record is begun; otherwise nothing is kept. */
export const recordIfWanted = (name: FigureName, isWanted = process.argv.includes('--record')): { end: (found: Found) => void } => {
  if (!isWanted) return { end: () => {} }
  try {
    return beginRecord(name)
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}
