import type { KeyObject } from 'node:crypto'
import { type KeyRing, KeysRefused, loadKeyRing } from '#ground/custody/key-ring.ts'
import { type Database, openDatabase } from '#ground/db/database.ts'
import { guardPrimary, type PrimaryGuard } from '#ground/db/primary-guard.ts'
import { checkpointKey } from '#ground/installation/checkpoint.ts'
import { type CheckpointStore, checkpointFile } from '#ground/installation/checkpoint-file.ts'
import { type CheckpointLog, checkpointLog } from '#ground/installation/checkpoint-log.ts'
import { auditKey, ownSecret } from '#ground/installation/own-secrets.ts'
import { verifyRecord } from '#ground/installation/verify-record.ts'
import { alone } from '#ground/kernel/alone.ts'
import { type Append, appendWith } from '#rails/audit/append.ts'
import { type Config, ConfigRefused } from '../config.ts'
import { requireFitDatabase } from './start-checks.ts'

/** What every process of this installation opens first: the server, and the commands that operate on it. */
export interface OpenInstallation {
  readonly database: Database
  /** What any pool of the process has seen of the database's timelines. */
  readonly primary: PrimaryGuard
  readonly ring: KeyRing
  readonly append: Append
  readonly checkpoints: CheckpointLog
  readonly verify: () => ReturnType<typeof verifyRecord>
}

const keysOf = async (config: Config): Promise<KeyRing> => {
  try {
    return await loadKeyRing(config.key_source, config.profile)
  } catch (error) {
    throw error instanceof KeysRefused ? new ConfigRefused(error.message) : error
  }
}

export const openInstallation = async (config: Config, onError: (error: Error) => void): Promise<OpenInstallation> => {
  const ring = await keysOf(config)
  const primary = guardPrimary()
  const reached = { url: config.database_url.reveal(), primary, onError }
  const database = openDatabase(reached)
  try {
    await requireFitDatabase(config, database)
    // All of them at the first start: a backup made later then holds every one.
    await ownSecret(database, ring, 'cursor_key')
    const key = await auditKey(database, ring)
    const signing: KeyObject = checkpointKey(await ownSecret(database, ring, 'checkpoint_key'))
    const store: CheckpointStore = checkpointFile(config.checkpoint_file)
    return {
      database,
      primary,
      ring,
      append: appendWith({ region: config.region, key }),
      checkpoints: checkpointLog(store, signing),
      verify: alone('verifying', async () => {
        const inspecting = openDatabase({ ...reached, max_connections: 1, statement_timeout_ms: 60_000 })
        return verifyRecord(inspecting, key, store, signing).finally(() => inspecting.close())
      }),
    }
  } catch (error) {
    await database.close()
    throw error
  }
}
