// Commands on an installation, with the server's own configuration: verify, rewrap, backup, restore, accept-restore.
import { parseArgs } from 'node:util'
import { record } from './audit/record.ts'
import { type Config, ConfigRefused, parseConfig } from './config.ts'
import { backup } from './db/copy/backup.ts'
import { CopyRefused } from './db/copy/copy-refused.ts'
import { restore } from './db/copy/restore.ts'
import { acceptRestore } from './installation/accept-restore.ts'
import { rewrap } from './installation/rewrap.ts'
import { newId } from './kernel/ids.ts'
import { openInstallation } from './open-installation.ts'
import { prepareDatabase } from './prepare-database.ts'
import { sentenceOf } from './start-sentence.ts'
import { envelopeColumns } from './wiring.ts'
import { newTrail } from './work/work.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { reason: { type: 'string' } },
})
const [command, file] = positionals

const refuse = (sentence: string): never => {
  throw new ConfigRefused(sentence)
}
const opened = (config: Config) => openInstallation(config, (error) => console.error(`database: ${error.message}`))
const ownerUrlOf = ({ database_owner_url }: Config): string =>
  database_owner_url?.reveal() ?? refuse('DATABASE_OWNER_URL is not set; copies are made as the owner of the tables.')
const rolesOf = (config: Config) => ({
  ownerUrl: ownerUrlOf(config),
  appRole: decodeURIComponent(new URL(config.database_url.reveal()).username),
})

const commands: Record<string, (config: Config) => Promise<boolean>> = {
  verify: async (config) => {
    const { database, verify } = await opened(config)
    const began = performance.now()
    const { rows, chains, checkpoints, faults } = await verify(database.reader)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    for (const { sentence } of faults) console.log(sentence)
    console.log(
      `${rows} rows in ${chains} chains, compared with ${checkpoints} checkpoints in ${seconds} s: ${faults.length === 0 ? 'nothing was changed' : `${faults.length} chains are not what was written`}.`,
    )
    await database.close()
    return faults.length === 0
  },

  rewrap: async (config) => {
    const { database, ring, append } = await opened(config)
    const moved = await rewrap(database, ring, envelopeColumns)
    await database.transaction('write', async (tx) => {
      const work = {
        actor: { type: 'system', id: 'rewrap' } as const,
        correlation_id: newId('correlation'),
        now: tx.now,
        tx,
        trail: newTrail(),
      }
      record(work, {
        action: 'installation.rewrap',
        resource_type: 'installation',
        resource_id: ring.active_id,
        severity: 'high',
        metadata: { moved },
      })
      await append(work)
    })
    for (const [column, count] of Object.entries(moved)) console.log(`${column}: ${count} sealed anew with ${ring.active_id}`)
    await database.close()
    return true
  },

  backup: async (config) => {
    const { tables } = await backup({ ownerUrl: ownerUrlOf(config), to: file ?? refuse('Say where to: npm run backup -- FILE') })
    console.log(
      `${file}: ${tables.length} tables, ${tables.reduce((sum, { rows }) => sum + rows, 0)} rows. The key-encryption keys are not in it.`,
    )
    return true
  },

  restore: async (config) => {
    const from = file ?? refuse('Say what from: npm run restore -- FILE')
    await prepareDatabase(rolesOf(config))
    const { tables } = await restore({ ...rolesOf(config), from })
    console.log(`${from}: ${tables.reduce((sum, { rows }) => sum + rows, 0)} rows restored.`)
    console.log('No server starts on it until the restore is accepted: npm run restore -- --accept --reason "why"')
    return true
  },

  'accept-restore': async (config) => {
    const { database, checkpoints, append } = await opened(config)
    const epoch = await acceptRestore(database, checkpoints, append, values.reason ?? refuse('Say why: --accept --reason "why"'))
    console.log(`Accepted. This is epoch ${epoch}: machine tokens and node states of before do not count.`)
    await database.close()
    return true
  },
}

try {
  const act =
    commands[command ?? ''] ?? refuse(`There is no command ${command ?? '(none)'}; there are ${Object.keys(commands).join(', ')}.`)
  process.exitCode = (await act(parseConfig(process.env))) ? 0 : 1
} catch (error) {
  console.error(`gatehouse: ${error instanceof CopyRefused ? error.message : sentenceOf(error)}`)
  process.exitCode = 2
}
