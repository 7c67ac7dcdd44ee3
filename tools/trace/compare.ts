import { type Elsewhere, elsewhereOf } from './elsewhere.ts'
import { commands, idsIn, proofsIn, type Runs } from './proofs.ts'
import type { Requirement } from './requirements.ts'

export interface Known {
  readonly requirements: readonly Requirement[]
  readonly open: readonly string[]
  readonly elsewhere: readonly Elsewhere[]
  /** Parts that this machine lacks: what needs them cannot be proved here. */
  readonly missing: readonly string[]
}

export type Trace = {
  rows: { id: string; title: string; tests: string[]; open: boolean }[]
  /** What is left of the open list once the covered ones are taken off; it cannot grow. */
  stillOpen: string[]
  /** What the list of requirements proved elsewhere has to say after these runs. */
  elsewhere: Elsewhere[]
  faults: string[]
}

const duplicatesIn = (ids: readonly string[]): string[] => ids.filter((id, index) => ids.indexOf(id) !== index)

const unknownIds = (runs: Runs, known: ReadonlySet<string>): string[] =>
  commands.flatMap((command) =>
    (runs[command] ?? []).flatMap(({ file, name }) =>
      idsIn(name)
        .filter((id) => !known.has(id))
        .map((id) => `${id} is named by a test but is no requirement: ${file}: ${name}`),
    ),
  )

/** Requirements beside the tests that prove them. Only a test that ran and passed proves anything. */
export const compare = (runs: Runs, { requirements, open, elsewhere, missing }: Known): Trace => {
  const known = new Set(requirements.map(({ id }) => id))
  const proofs = proofsIn(runs)
  const ids = requirements.map(({ id }) => id)
  const faults = unknownIds(runs, known)
  for (const id of duplicatesIn(ids)) faults.push(`${id} is listed twice`)
  for (const id of open) if (!known.has(id)) faults.push(`${id} is on the open list but is no requirement`)
  for (const { id } of elsewhere) if (!known.has(id)) faults.push(`${id} is on the list of those proved elsewhere but is no requirement`)

  const isExcused = (id: string): boolean => {
    const entry = elsewhere.find((each) => each.id === id)
    return entry !== undefined && (!runs[entry.command] || (entry.part !== null && missing.includes(entry.part)))
  }
  const rows = requirements.map(({ id, title }) => ({
    id,
    title,
    tests: (proofs.get(id) ?? []).map(({ test }) => test).sort(),
    open: open.includes(id),
  }))
  for (const { id, title, tests, open: isOpen } of rows) {
    if (tests.length === 0 && !isOpen && !isExcused(id)) faults.push(`${id} (${title}) has no passing test and is not on the open list`)
    if (tests.length > 0 && isOpen) faults.push(`${id} (${title}) is proved now: take it off docs/open-requirements.txt`)
  }
  const found = elsewhereOf(proofs, ids)
  // Only both tiers on a machine with every part can tell where each requirement is proved.
  if (commands.every((command) => runs[command]) && missing.length === 0 && JSON.stringify(found) !== JSON.stringify(elsewhere))
    faults.push('docs/proved-elsewhere.txt is out of date: npm run trace -- --write')
  return { rows, stillOpen: open.filter((id) => known.has(id) && !proofs.has(id)), elsewhere: found, faults }
}

export const summaryOf = ({ rows, stillOpen }: Trace): string =>
  `${rows.filter(({ tests }) => tests.length > 0).length} of ${rows.length} requirements proved, ${stillOpen.length} open`
