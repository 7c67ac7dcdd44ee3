// The finished units of a long campaign, one line of JSON each. A run that was killed is continued with `--resume`.
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Settings = Readonly<Record<string, string | number | boolean | readonly string[]>>

interface Begun {
  readonly campaign: string
  readonly commit: string
  /** A hash of the code, which also tells changes that are not committed. */
  readonly code: string
  readonly settings: Settings
}

type Line<Unit> = { readonly unit: Unit; readonly seconds: number } | { readonly is_complete: true }

export interface Opening extends Begun {
  readonly folder: string
  readonly mode: 'new' | 'resume' | 'restart'
}

/** A sentence for whoever started the campaign. */
export class Refused extends Error {}

/** The lines that were written whole. A kill can only cut the last one, which has no line feed then. */
const wholeLines = (path: string): string[] => {
  const text = readFileSync(path, 'utf8')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  if (whole !== text) writeFileSync(path, whole)
  return whole.split('\n').slice(0, -1)
}

const parsed = <T>(path: string, lines: readonly string[]): T[] =>
  lines.map((line, at) => {
    try {
      return JSON.parse(line) as T
    } catch {
      throw new Refused(`Line ${at + 1} of the journal ${path} is not JSON. --restart discards the journal and begins again.`)
    }
  })

const spelled = (value: unknown) => JSON.stringify(value)

const requireSame = (path: string, kept: Begun, wanted: Begun) => {
  if (kept.commit !== wanted.commit)
    throw new Refused(`The journal ${path} belongs to commit ${kept.commit}, and the tree is at ${wanted.commit}. Check out that commit.`)
  if (kept.code !== wanted.code)
    throw new Refused(`The code has changed since the journal ${path} was begun. Restore it, or discard the journal with --restart.`)
  if (spelled(kept.settings) !== spelled(wanted.settings))
    throw new Refused(
      `The journal ${path} was begun with ${spelled(kept.settings)}, and this run has ${spelled(wanted.settings)}. Give the same settings, or --restart.`,
    )
}

export const openJournal = <Unit>({ folder, mode, ...begun }: Opening) => {
  const { campaign, commit, settings } = begun
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${campaign}-${commit}-${settings.seed ?? 0}.jsonl`)
  if (mode === 'restart') rmSync(path, { force: true })
  const lines = existsSync(path) ? wholeLines(path) : []
  const [kept, ...rest] = parsed<Begun | Line<Unit>>(path, lines) as [Begun | undefined, ...Line<Unit>[]]
  const isComplete = rest.length > 0 && 'is_complete' in rest.at(-1)!
  if (mode === 'resume' && !kept) {
    const others = readdirSync(folder).filter((name) => name.startsWith(`${campaign}-`))
    throw new Refused(
      `There is no journal ${path} to resume.${others.length > 0 ? ` Journals of other commits or seeds: ${others.join(', ')}.` : ''} Run without --resume.`,
    )
  }
  if (mode === 'new' && rest.length > 0 && !isComplete)
    throw new Refused(
      `The journal ${path} has ${rest.filter((line) => 'unit' in line).length} finished units. --resume continues it, --restart discards it.`,
    )
  if (kept && mode === 'resume') requireSame(path, kept, begun)
  else {
    rest.length = 0
    writeFileSync(path, `${JSON.stringify(begun)}\n`)
  }
  const units: Unit[] = []
  let seconds = 0
  for (const line of rest) {
    if ('is_complete' in line) continue
    units.push(line.unit)
    seconds += line.seconds
  }
  let last = performance.now()
  const write = (line: Line<Unit>) => appendFileSync(path, `${JSON.stringify(line)}\n`)
  return {
    path,
    /** Of this run and of those before it, in the order in which they were finished. */
    units: units as readonly Unit[],
    finish: (unit: Unit) => {
      const now = performance.now()
      write({ unit, seconds: Math.round(now - last) / 1000 })
      units.push(unit)
      seconds += (now - last) / 1000
      last = now
    },
    /** Spent on finished units, over all runs. */
    seconds: () => Math.round(seconds),
    complete: () => write({ is_complete: true }),
  }
}

export type Journal<Unit> = ReturnType<typeof openJournal<Unit>>
