import { afterEach, inject } from 'vitest'
import { type Restored, restore } from '../server/src/ground/db/copy/restore.ts'
import { type ClonedDatabase, cloneDatabase } from './postgres.ts'

export const restoreInto = ({ ownerUrl }: { readonly ownerUrl: string }, from: string): Promise<Restored> =>
  restore({ ownerUrl, appRole: inject('postgres').app.role, from })

/** Prepared databases to restore into, for one test each. What else a test pushes to `undo` is undone after it, the last first. */
export const restoreTargets = () => {
  const undo: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })
  const fresh = async (): Promise<ClonedDatabase> => {
    const clone = await cloneDatabase()
    undo.push(clone.drop)
    return clone
  }
  return { undo, fresh }
}
