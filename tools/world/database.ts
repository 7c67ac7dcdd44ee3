import { isPortFree } from '@gatehouse/server/ground/db/embedded/free-port'
import type { Place } from '@gatehouse/server/ground/db/embedded/place'
import { startPostgres } from '@gatehouse/server/ground/db/embedded/postgres'
import type { Settings } from './settings.ts'

export type Database = { appUrl: string; ownerUrl: string; appRole: string; gone: Promise<number | string>; stop: () => Promise<void> }

const usualPort = 8092

/** Somebody else's PostgreSQL where one is named, otherwise our own. */
export const openDatabase = async ({ external, dbPort }: Settings, place: Place, log: (line: string) => void): Promise<Database> => {
  if (external) return { ...external, gone: new Promise(() => {}), stop: () => Promise.resolve() }
  const port = dbPort ?? ((await isPortFree(usualPort)) ? usualPort : undefined)
  const postgres = await startPostgres({ dataDir: place.dataDir, log, ...(port ? { port } : {}) })
  return { ...postgres, appRole: 'gatehouse_app' }
}
