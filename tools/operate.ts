// Runs a command on an installation: the one that the environment names, or the local development world's.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { lockHolder } from '@gatehouse/server/db/embedded/lock'
import { StartRefused } from '@gatehouse/server/db/embedded/start-refused'
import { openDatabase } from './world/database.ts'
import { explain } from './world/explain.ts'
import { readSettings } from './world/settings.ts'
import { chosenPlace, enterState, keptEnvironment, project } from './world/state.ts'

const given = process.argv.slice(2)
const isAccept = given[0] === 'restore' && given.includes('--accept')
const isReplace = given[0] === 'restore' && given.includes('--replace')
const words = (isAccept ? ['accept-restore', ...given.slice(1)] : given).filter((word) => word !== '--accept' && word !== '--replace')

const run = async (environment: Record<string, string | undefined>): Promise<number> => {
  const child = spawn(process.execPath, [join(project, 'server/src/operate.ts'), ...words], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  return code ?? 1
}

/** In the local world: beside the running server, or with a database started for as long as the command takes. */
const inTheWorld = async (): Promise<number> => {
  const settings = readSettings(process.env)
  const place = chosenPlace(settings.stateDir)
  const environment = keptEnvironment(place.stateDir)
  if (!environment)
    throw new StartRefused(
      'There is no local world yet; npm start makes one. Or name an installation by its environment (DATABASE_URL and the rest).',
    )
  const isRunning = (await lockHolder(join(place.stateDir, 'world'))) !== undefined
  if (isRunning && words[0]?.includes('restore'))
    throw new StartRefused('Gatehouse is running from this folder. Stop it first, with Ctrl-C in its terminal.')
  if (isRunning) return run(environment)

  const { release } = await enterState(place.stateDir)
  try {
    if (isReplace && existsSync(place.dataDir)) {
      const aside = `${place.dataDir}-before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`
      renameSync(place.dataDir, aside)
      console.log(`The present data is kept in ${aside}`)
    }
    const database = await openDatabase(settings, place, () => {})
    try {
      return await run({ ...environment, DATABASE_URL: database.appUrl, DATABASE_OWNER_URL: database.ownerUrl })
    } finally {
      await database.stop()
    }
  } finally {
    await release()
  }
}

try {
  process.exitCode = process.env.DATABASE_URL ? await run(process.env) : await inTheWorld()
} catch (error) {
  console.error(`\n${explain(error)}\n`)
  process.exitCode = 2
}
