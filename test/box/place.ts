import { afterAll, beforeAll } from 'vitest'
import { cloneDatabase } from '../postgres.ts'
import { type BoxNodeOptions, type BoxPlace, boxPlaceOn } from './node.ts'

/** The node in a box, its server and its people that all stories of a file share. */
export const boxFixture = (options: BoxNodeOptions = {}): (() => BoxPlace) => {
  let place: BoxPlace | undefined
  beforeAll(async () => {
    const { drop, ...database } = await cloneDatabase()
    place = await boxPlaceOn({ ...database, stop: drop }, options)
  })
  afterAll(() => place?.stop())
  return () => place!
}
