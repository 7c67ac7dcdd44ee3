import { platformChain } from '#rails/audit/chain.ts'
import type { Checkpoint } from './checkpoint.ts'

/** An acceptance as the platform's record tells it. */
export interface RecordedAcceptance {
  readonly at: string
  readonly epoch: number
  readonly reason: string
  readonly found: string | null
}

/** What an operator has given up knowingly: it is history, not a fault. */
export interface AcceptedGap {
  readonly epoch: number
  readonly at: string
  readonly sentence: string
}

interface GivenUp {
  readonly chain_id: string
  readonly from: number
  readonly to: number
}

const nameOf = (chain_id: string) => (chain_id === platformChain ? 'the platform' : `tenant ${chain_id}`)

/** The rows that older checkpoints remember and that the chains did not have when a restore was accepted, by epoch. */
const givenUp = (checkpoints: Iterable<Checkpoint>): Map<number, { at: string; rows: GivenUp[] }> => {
  const gaps = new Map<number, { at: string; rows: GivenUp[] }>()
  const last = new Map<string, number>()
  for (const { kind, heads, epoch, at } of checkpoints) {
    if (kind === 'restore_accepted') {
      const rows: GivenUp[] = []
      for (const [chain_id, to] of last) {
        // The acceptance has a row of its own at the end of the platform's chain, where another row stood before.
        const own = chain_id === platformChain ? 1 : 0
        const kept = Math.max(0, (heads[chain_id]?.seq ?? 0) - own)
        if (to > kept) rows.push({ chain_id, from: kept + 1, to })
      }
      gaps.set(epoch, { at, rows })
      last.clear()
    }
    for (const [chain_id, { seq }] of Object.entries(heads)) last.set(chain_id, seq)
  }
  return gaps
}

/** Every acceptance that the record or the checkpoints know of, with what it gave up, in the order of epochs. */
export const acceptedGaps = (checkpoints: Iterable<Checkpoint>, recorded: readonly RecordedAcceptance[]): AcceptedGap[] => {
  const signed = givenUp(checkpoints)
  const epochs = new Set([...signed.keys(), ...recorded.map(({ epoch }) => epoch)])
  return [...epochs]
    .sort((one, other) => one - other)
    .map((epoch) => {
      const told = recorded.find((each) => each.epoch === epoch)
      const at = signed.get(epoch)?.at ?? told!.at
      const lost = (signed.get(epoch)?.rows ?? []).map(
        ({ chain_id, from, to }) => `rows ${from} to ${to} in the chain of ${nameOf(chain_id)} were given up`,
      )
      const why = told ? [`reason "${told.reason}"`, ...(told.found === null ? [] : [`found: ${told.found}`])] : ['its own record is gone']
      return { epoch, at, sentence: `Accepted at ${at}, epoch ${epoch}: ${[...lost, ...why].join('; ')}.` }
    })
}
