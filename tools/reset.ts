// `npm run reset`: wipes the data of the local development world.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { lockHolder } from '@gatehouse/server/ground/db/embedded/lock'
import { dataDirOf } from '@gatehouse/server/ground/db/embedded/place'
import { endFormer } from '@gatehouse/server/ground/db/embedded/postmaster'
import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'
import { explain } from './world/explain.ts'
import { readSettings } from './world/settings.ts'
import { everyStateDir, wipeState } from './world/state.ts'

const reset = async (stateDirs: string[]) => {
  const present = stateDirs.filter((stateDir) => existsSync(stateDir))
  for (const stateDir of present) {
    const holder = (await lockHolder(join(stateDir, 'world'))) ?? (await lockHolder(dataDirOf(stateDir)))
    if (holder)
      throw new StartRefused(
        `Gatehouse is running on ${stateDir} (process ${holder}). Stop it first, with Ctrl-C in its terminal; nothing was wiped.`,
      )
  }
  for (const stateDir of present) {
    await endFormer(dataDirOf(stateDir), console.log)
    if (wipeState(stateDir)) console.log(`Wiped ${stateDir}`)
  }
  console.log('The next start begins with a new database.')
}

try {
  await reset(everyStateDir(readSettings(process.env).stateDir))
} catch (error) {
  console.error(`\n${explain(error)}\n`)
  process.exitCode = 1
}
