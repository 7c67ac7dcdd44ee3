import type { KeyObject } from 'node:crypto'
import type { Reader } from '#ground/db/database.ts'
import { allHeads, countRows, type FoundRow, firstRows, rowsAfter, rowsOutOfPlace } from './audit-queries.ts'
import { genesis, linkHash, platformChain, textOf } from './chain.ts'

/** What somebody outside the database remembers: which hash each chain had at which place. */
export type Memory = ReadonlyMap<string, ReadonlyMap<number, string>>

/** Where a chain stops being believable. */
export interface Fault {
  readonly chain_id: string
  /** Null: the platform's chain. */
  readonly tenant_id: string | null
  readonly first_bad_seq: number
  readonly kind: 'altered' | 'missing' | 'unexpected' | 'cut' | 'rewritten' | 'checkpoints_missing'
  readonly sentence: string
}

export interface Verified {
  readonly rows: number
  readonly chains: number
  readonly faults: readonly Fault[]
}

/** How far one chain has been followed. */
interface Walk {
  readonly chain_id: string
  readonly remembered: ReadonlyMap<number, string>
  seq: number
  hash: Buffer
  /** The last place at which outside memory agreed. */
  agreed: number
  fault: Fault | null
}

const nothing: ReadonlyMap<number, string> = new Map()

const faultIn = ({ chain_id }: Walk, kind: Fault['kind'], first_bad_seq: number, what: string): Fault => {
  const isPlatform = chain_id === platformChain
  const whose = isPlatform ? 'the platform' : `tenant ${chain_id}`
  return { chain_id, tenant_id: isPlatform ? null : chain_id, first_bad_seq, kind, sentence: `In the chain of ${whose}, ${what}.` }
}

const follow = (walk: Walk, key: KeyObject, row: FoundRow): Fault | null => {
  const { seq, hash } = row
  const { agreed } = walk
  if (seq !== walk.seq + 1) return faultIn(walk, 'missing', walk.seq + 1, `row ${walk.seq + 1} is missing`)
  if (hash === null || !linkHash(key, walk.hash, textOf(row)).equals(hash))
    return faultIn(walk, 'altered', seq, `row ${seq} is not what was written`)
  const remembered = walk.remembered.get(seq)
  // The row fits its chain, but it is another row than the one that stood here once.
  if (remembered !== undefined && remembered !== hash.toString('hex'))
    return faultIn(walk, 'rewritten', agreed + 1, `rows ${agreed + 1} to ${seq} are not those that a checkpoint remembers`)
  if (remembered !== undefined) walk.agreed = seq
  walk.seq = seq
  walk.hash = hash
  return null
}

const compareHead = (walk: Walk, seq: number, hash: Buffer): Fault | null => {
  if (seq > walk.seq) return faultIn(walk, 'cut', walk.seq + 1, `rows ${walk.seq + 1} to ${seq} are missing at the end`)
  if (seq < walk.seq) return faultIn(walk, 'unexpected', seq + 1, `row ${seq + 1} was added past the end`)
  return hash.equals(walk.hash) ? null : faultIn(walk, 'altered', Math.max(seq, 1), 'the end is not what was written')
}

const compareMemory = (walk: Walk): Fault | null => {
  let last = 0
  for (const seq of walk.remembered.keys()) last = Math.max(last, seq)
  return last <= walk.seq
    ? null
    : faultIn(walk, 'cut', walk.seq + 1, `rows ${walk.seq + 1} to ${last} are gone, which a checkpoint remembers`)
}

/**
 * Reads every row once and follows each chain from its beginning; a chain is believed up to its first fault. Outside memory is
 * what finds a tail that was cut, or a table put back to an earlier state: the database alone cannot know.
 */
export const verifyChains = async (reader: Reader, key: KeyObject, memory: Memory = new Map(), batch = 10_000): Promise<Verified> => {
  const walks = new Map<string, Walk>()
  const walkOf = (chain_id: string): Walk => {
    const known = walks.get(chain_id)
    if (known) return known
    const fresh: Walk = { chain_id, remembered: memory.get(chain_id) ?? nothing, seq: 0, hash: genesis, agreed: 0, fault: null }
    walks.set(chain_id, fresh)
    return fresh
  }

  let rows = 0
  const readAfter = (row: { chain_id: string; seq: number }) => reader.many(rowsAfter(row.chain_id, row.seq, batch))
  // From the very beginning: a row before the first would otherwise not be seen.
  let coming = reader.many(firstRows(batch))
  for (;;) {
    const read = await coming
    // The next rows are on their way while these are followed.
    const isLast = read.length < batch
    if (!isLast) {
      coming = readAfter(read.at(-1)!)
      coming.catch(() => {})
    }
    for (const row of read) {
      const walk = walkOf(row.chain_id)
      walk.fault ??= follow(walk, key, row)
    }
    rows += read.length
    if (isLast) break
  }
  const heads = new Map((await reader.many(allHeads())).map((head) => [head.chain_id, head]))
  for (const chain_id of [...heads.keys(), ...memory.keys()]) walkOf(chain_id)
  for (const walk of walks.values()) {
    const head = heads.get(walk.chain_id)
    walk.fault ??= compareHead(walk, head?.seq ?? 0, head?.hash ?? genesis) ?? compareMemory(walk)
  }
  // Each batch begins after the place at which the last one ended: what stands there a second time is in neither.
  if ((await reader.one(countRows())).count !== rows)
    for (const { chain_id, seq } of await reader.many(rowsOutOfPlace())) {
      const walk = walkOf(chain_id ?? platformChain)
      walk.fault ??= faultIn(walk, 'unexpected', seq ?? 1, seq === null ? 'a row stands at no place' : `row ${seq} is not the only one`)
    }
  return { rows, chains: walks.size, faults: [...walks.values()].flatMap(({ fault }) => fault ?? []) }
}
