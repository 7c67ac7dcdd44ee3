import type { Requirement } from './requirements.ts'
import type { TestResult } from './results.ts'

const idsIn = (name: string): string[] => name.match(/\b[A-Z]{2}-\d{2}\b/g) ?? []

export type Trace = {
  rows: { id: string; title: string; tests: string[]; open: boolean }[]
  /** What is left of the open list once the covered ones are taken off; it cannot grow. */
  stillOpen: string[]
  faults: string[]
}

const duplicatesIn = (ids: readonly string[]): string[] => ids.filter((id, index) => ids.indexOf(id) !== index)

/** Requirements beside the tests that prove them. Only a test that ran and passed proves anything. */
export const compare = (requirements: readonly Requirement[], open: readonly string[], results: readonly TestResult[]): Trace => {
  const known = new Set(requirements.map(({ id }) => id))
  const proofs = new Map<string, Set<string>>()
  const faults: string[] = []
  for (const { file, name, outcome } of results) {
    for (const id of idsIn(name)) {
      if (!known.has(id)) faults.push(`${id} is named by a test but is no requirement: ${file}: ${name}`)
      else if (outcome === 'passed') proofs.set(id, (proofs.get(id) ?? new Set()).add(`${file}: ${name}`))
    }
  }
  for (const id of duplicatesIn(requirements.map((requirement) => requirement.id))) faults.push(`${id} is listed twice`)
  for (const id of open) if (!known.has(id)) faults.push(`${id} is on the open list but is no requirement`)
  const rows = requirements.map(({ id, title }) => ({ id, title, tests: [...(proofs.get(id) ?? [])].sort(), open: open.includes(id) }))
  for (const { id, title, tests, open: isOpen } of rows) {
    if (tests.length === 0 && !isOpen) faults.push(`${id} (${title}) has no passing test and is not on the open list`)
    if (tests.length > 0 && isOpen) faults.push(`${id} (${title}) is proved now: take it off docs/open-requirements.txt`)
  }
  const stillOpen = open.filter((id) => known.has(id) && !proofs.has(id))
  return { rows, stillOpen, faults }
}

export const summaryOf = ({ rows, stillOpen }: Trace): string =>
  `${rows.filter(({ tests }) => tests.length > 0).length} of ${rows.length} requirements proved, ${stillOpen.length} open`
