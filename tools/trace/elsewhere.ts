import { readFile } from 'node:fs/promises'
import type { Proof } from './proofs.ts'

/** Where a requirement is proved that `npm test` on a bare machine does not prove: the larger tier, a part that a machine may lack, or both. */
export interface Elsewhere {
  readonly id: string
  readonly command: 'test' | 'test:all'
  readonly part: string | null
}

export const elsewherePath = 'docs/proved-elsewhere.txt'

const comment =
  '# Requirements that `npm test` does not prove on a bare machine: the id, the command that proves it, and the part of the machine that it needs (- for none). Written by `npm run trace -- --write`.'

const textOf = ({ id, command, part }: Elsewhere): string => `${id} ${command} ${part ?? '-'}`

export const elsewhereList = (entries: readonly Elsewhere[]): string => [comment, ...entries.map(textOf), ''].join('\n')

export const readElsewhere = async (): Promise<Elsewhere[]> => {
  const lines = (await readFile(elsewherePath, 'utf8')).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [id = '', command = '', part = ''] = line.split(' ')
    if (command !== 'test' && command !== 'test:all') throw new Error(`${elsewherePath}: no such command: ${line}`)
    return { id, command, part: part === '-' ? null : part }
  })
}

/** The nearest proof: in `npm test` before `test:all`, and without a part before one that needs it. */
const nearest = (proofs: readonly Proof[]): Proof | undefined =>
  proofs.toSorted(
    (one, other) =>
      Number(one.command !== 'test') - Number(other.command !== 'test') || Number(one.part !== null) - Number(other.part !== null),
  )[0]

export const elsewhereOf = (proofs: ReadonlyMap<string, readonly Proof[]>, ids: readonly string[]): Elsewhere[] =>
  ids.flatMap((id) => {
    const proof = nearest(proofs.get(id) ?? [])
    return proof && (proof.command !== 'test' || proof.part !== null) ? [{ id, command: proof.command, part: proof.part }] : []
  })
