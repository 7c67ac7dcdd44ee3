export type TestResult = { file: string; name: string; outcome: 'passed' | 'failed' | 'skipped' }

/** A passed test that names a requirement: which command ran it, and which part of the machine it needed. */
export interface Proof {
  readonly test: string
  readonly command: 'test' | 'test:all'
  readonly part: string | null
}

/** Results of the tiers that ran; the tier that did not is absent. */
export interface Runs {
  readonly test?: readonly TestResult[]
  readonly 'test:all'?: readonly TestResult[]
}

export const commands = ['test', 'test:all'] as const

export const idsIn = (name: string): string[] => name.match(/\b[A-Z]{2}-\d{2}\b/g) ?? []

const partOf = (name: string): string | null => /\(needs ([\w-]+)\)$/.exec(name)?.[1] ?? null

export const proofsIn = (runs: Runs): Map<string, Proof[]> => {
  const proofs = new Map<string, Proof[]>()
  for (const command of commands)
    for (const { file, name, outcome } of runs[command] ?? [])
      for (const id of outcome === 'passed' ? idsIn(name) : []) {
        const known = proofs.get(id) ?? []
        const test = `${file}: ${name}`
        if (!known.some((proof) => proof.test === test)) known.push({ test, command, part: partOf(name) })
        proofs.set(id, known)
      }
  return proofs
}
