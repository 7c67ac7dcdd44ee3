// Runs a command on an installation: the one that the environment names, or the local development world's.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lockHolder } from '@gatehouse/server/ground/db/embedded/lock'
import { passwordsFileOf } from '@gatehouse/server/ground/db/embedded/passwords'
import type { Place } from '@gatehouse/server/ground/db/embedded/place'
import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'
import { openDatabase } from './world/database.ts'
import { explain } from './world/explain.ts'
import { readSettings, type Settings } from './world/settings.ts'
import { chosenPlace, enterState, keptEnvironment, keyEncryptionKeys, project } from './world/state.ts'

const given = process.argv.slice(2)
const isAccept = given[0] === 'restore' && given.includes('--accept')
const isReplace = given[0] === 'restore' && given.includes('--replace')
const words = (isAccept ? ['accept-restore', ...given.slice(1)] : given).filter((word) => word !== '--accept' && word !== '--replace')

const run = async (environment: Record<string, string | undefined>): Promise<number> => {
  const child = spawn(process.execPath, [join(project, 'server/src/process/operate.ts'), ...words], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  return code ?? 1
}

type Aside = { folder: string; putBack: () => void }

/** The data and its passwords go together: one without the other opens for nobody. */
const moveAside = (dataDir: string): Aside => {
  const folder = `${dataDir}-before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`
  const move = (from: string, to: string) => {
    renameSync(from, to)
    renameSync(passwordsFileOf(from), passwordsFileOf(to))
  }
  if (!existsSync(passwordsFileOf(dataDir)))
    throw new StartRefused(`The passwords of the data in ${dataDir} are missing, so it is not moved.`)
  move(dataDir, folder)
  return {
    folder,
    putBack: () => {
      rmSync(dataDir, { recursive: true, force: true })
      move(folder, dataDir)
      console.log('The data is as it was.')
    },
  }
}

const withDatabase = async (settings: Settings, place: Place, environment: Record<string, string>): Promise<number> => {
  const database = await openDatabase(settings, place, () => {})
  try {
    // The keys as their file has them now: somebody may have added one since the last start.
    const keys = keyEncryptionKeys(place.stateDir)
    const now = { DATABASE_URL: database.appUrl, DATABASE_OWNER_URL: database.ownerUrl, GATEHOUSE_KEY_ENCRYPTION_KEYS: keys }
    return await run({ ...environment, ...now })
  } finally {
    await database.stop()
  }
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
  if (isRunning) return run({ ...environment, GATEHOUSE_KEY_ENCRYPTION_KEYS: keyEncryptionKeys(place.stateDir) })

  const { release } = await enterState(place.stateDir)
  try {
    const aside = isReplace && existsSync(place.dataDir) ? moveAside(place.dataDir) : undefined
    const code = await withDatabase(settings, place, environment).catch((error: unknown) => {
      aside?.putBack()
      throw error
    })
    if (aside && code === 0) console.log(`The data of before is kept in ${aside.folder}`)
    if (aside && code !== 0) aside.putBack()
    return code
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
