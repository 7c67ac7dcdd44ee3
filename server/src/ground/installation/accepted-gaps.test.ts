import { expect, test } from 'vitest'
import { platformChain } from '#rails/audit/chain.ts'
import { acceptedGaps } from './accepted-gaps.ts'
import type { Checkpoint } from './checkpoint.ts'

const at = '2026-01-01T00:00:00.000Z'
const tenant = '0190aaaa-0000-7000-8000-000000000001'
const line = (kind: Checkpoint['kind'], epoch: number, seqs: Record<string, number>): Checkpoint => ({
  number: 1,
  kind,
  at,
  installation_id: '',
  epoch,
  heads: Object.fromEntries(Object.entries(seqs).map(([chain_id, seq]) => [chain_id, { seq, hash: '0'.repeat(64) }])),
  previous: '',
  public_key: '',
  signature: '',
})

test.for([
  // The acceptance itself is the row after the last that was kept.
  ['rows of the platform', 15, 8, 'rows 8 to 15 in the chain of the platform were given up; '],
  ['one row of the platform', 8, 8, 'rows 8 to 8 in the chain of the platform were given up; '],
  ['no row of the platform', 7, 8, ''],
] as const)('AU-02 audit:verify: an accepted restore gave up %s → told exactly', ([, before, after, told]) => {
  const checkpoints = [
    line('checkpoint', 1, { [platformChain]: before, [tenant]: 9 }),
    line('restore_accepted', 2, { [platformChain]: after, [tenant]: 8 }),
    line('checkpoint', 2, { [platformChain]: 30, [tenant]: 20 }),
  ]
  expect(acceptedGaps(checkpoints, [{ at, epoch: 2, reason: 'disk lost', found: null }])).toEqual([
    {
      epoch: 2,
      at,
      sentence: `Accepted at ${at}, epoch 2: ${told}rows 9 to 9 in the chain of tenant ${tenant} were given up; reason "disk lost".`,
    },
  ])
})
