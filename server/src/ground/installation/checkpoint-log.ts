import type { KeyObject } from 'node:crypto'
import { type Checkpoint, readCheckpoints, signCheckpoint } from './checkpoint.ts'
import type { CheckpointStore } from './checkpoint-file.ts'

type Head = Checkpoint['heads'][string]

/** The checkpoints as this process knows them: it reads only what was added since it last looked. */
export interface CheckpointLog {
  /** Where they are kept. */
  readonly where: string
  /** Reads what is new; every line read since the beginning was believed. */
  refresh(): Promise<readonly Checkpoint[]>
  append(content: Omit<Checkpoint, 'number' | 'previous' | 'public_key' | 'signature'>): Promise<number>
  /** Where each chain ended at its latest checkpoint. */
  heads(): ReadonlyMap<string, Head>
  count(): number
  /** The highest epoch that was ever signed. */
  epoch(): number
}

export const checkpointLog = (store: CheckpointStore, key: KeyObject): CheckpointLog => {
  let place = 0
  let count = 0
  let line: string | undefined
  let epoch = 0
  const heads = new Map<string, Head>()

  const refresh = async () => {
    const { lines, next } = await store.linesFrom(place)
    const fresh = readCheckpoints(lines, key, { count, line }, store.where)
    for (const checkpoint of fresh) {
      epoch = Math.max(epoch, checkpoint.epoch)
      if (checkpoint.kind === 'restore_accepted') heads.clear()
      for (const [chain_id, head] of Object.entries(checkpoint.heads)) heads.set(chain_id, head)
    }
    place = next
    count += fresh.length
    line = lines.at(-1) ?? line
    return fresh
  }

  return {
    where: store.where,
    refresh,
    append: async (content) => {
      await refresh()
      await store.append(place, signCheckpoint(key, line, { ...content, number: count + 1 }))
      await refresh()
      return count
    },
    heads: () => heads,
    count: () => count,
    epoch: () => epoch,
  }
}
