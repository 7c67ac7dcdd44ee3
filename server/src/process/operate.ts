// Commands on an installation, with the server's own configuration: verify, rewrap, backup, restore, accept-restore, and the orders of
// operator-orders.ts.
import { parseArgs } from 'node:util'
import { backup } from '#ground/db/copy/backup.ts'
import { CopyRefused } from '#ground/db/copy/copy-refused.ts'
import { restore } from '#ground/db/copy/restore.ts'
import { acceptRestore } from '#ground/installation/accept-restore.ts'
import { requireNotBehind } from '#ground/installation/compare-heads.ts'
import { requireKeyKnown } from '#ground/installation/require-key-known.ts'
import { rewrap } from '#ground/installation/rewrap.ts'
import { keysNotRewrapped } from '#machines/keys/envelopes.ts'
import { liveKeys } from '#machines/keys/signing-key-queries.ts'
import { type Config, ConfigRefused, parseConfig } from '../config.ts'
import { envelopeColumns } from '../rooms.ts'
import { type OpenInstallation, openInstallation } from './open-installation.ts'
import { carryOut, operatorOrders } from './operator-orders.ts'
import { prepareDatabase } from './prepare-database.ts'
import { sentenceOf } from './start-sentence.ts'

const text = { type: 'string' } as const
const readWords = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        reason: text,
        anyway: { type: 'boolean' },
        'checkpoints-lost': { type: 'boolean' },
        user: text,
        role: text,
        key: text,
        value: text,
        'correlation-id': text,
      },
    })
  } catch (error) {
    console.error(`gatehouse: ${(error as Error).message}`)
    return process.exit(2)
  }
}
const { values, positionals } = readWords()
const [command, file] = positionals

const refuse = (sentence: string): never => {
  throw new ConfigRefused(sentence)
}
const ownerUrlOf = ({ database_owner_url }: Config): string =>
  database_owner_url?.reveal() ?? refuse('DATABASE_OWNER_URL is not set; copies are made as the owner of the tables.')
const rolesOf = (config: Config) => ({
  ownerUrl: ownerUrlOf(config),
  appRole: decodeURIComponent(new URL(config.database_url.reveal()).username),
})

/** Opens the installation for one command and closes it whatever happens. Only a start of the server, or a restore, migrates. */
const within = async (config: Config, act: (installation: OpenInstallation) => Promise<boolean>): Promise<boolean> => {
  const installation = await openInstallation({ ...config, database_owner_url: null }, (error) =>
    console.error(`database: ${error.message}`),
  )
  try {
    return await act(installation)
  } finally {
    await installation.database.close()
  }
}

const total = (tables: readonly { rows: number }[]) => tables.reduce((sum, { rows }) => sum + rows, 0)

const commands: Record<string, (config: Config) => Promise<boolean>> = {
  verify: (config) =>
    within(config, async ({ verify }) => {
      const began = performance.now()
      const { rows, chains, checkpoints, faults, accepted } = await verify()
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      // An accepted gap is no fault. Its epoch tells an operator who compares two runs which gap is new.
      for (const { sentence } of accepted) console.log(sentence)
      for (const { sentence } of faults) console.log(`Fault: ${sentence}`)
      const outcome = faults.length === 0 ? 'nothing was changed' : `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`
      console.log(`${rows} rows in ${chains} chains, compared with ${checkpoints} checkpoints in ${seconds} s: ${outcome}.`)
      return faults.length === 0
    }),

  rewrap: (config) =>
    within(config, async ({ database, ring, append, checkpoints }) => {
      // What is recorded before a restore is accepted would fork the chains for good.
      await requireNotBehind(database, checkpoints)
      await requireKeyKnown(database.reader, ring)
      const moved = await rewrap(database, ring, envelopeColumns, append)
      for (const [column, count] of Object.entries(moved)) console.log(`${column}: ${count} re-sealed with ${ring.active_id}`)
      const left = keysNotRewrapped(await database.reader.many(liveKeys()), ring)
      for (const sentence of left) console.log(sentence)
      return left.length === 0
    }),

  backup: async (config) => {
    const to = file ?? refuse('Say where to: npm run backup -- FILE')
    const { tables } = await backup({ ownerUrl: ownerUrlOf(config), to })
    console.log(`${to}: ${tables.length} tables, ${total(tables)} rows. The key-encryption keys are not in it.`)
    return true
  },

  restore: async (config) => {
    const from = file ?? refuse('Say what from: npm run restore -- FILE')
    await prepareDatabase(rolesOf(config))
    const { tables } = await restore({ ...rolesOf(config), from })
    console.log(`${from}: ${total(tables)} rows restored.`)
    console.log('No server starts on it until the restore is accepted: npm run restore -- --accept --reason "why"')
    return true
  },

  'accept-restore': (config) => {
    const reason = values.reason ?? refuse('Say why: --accept --reason "why"')
    return within(config, async ({ database, checkpoints, append }) => {
      const epoch = await acceptRestore(database, checkpoints, append, reason, {
        isForced: values.anyway,
        isFileLost: values['checkpoints-lost'],
      })
      console.log(`Accepted. This is epoch ${epoch}: machine tokens and node states of before do not count.`)
      return true
    })
  },
}

for (const [name, order] of Object.entries(operatorOrders))
  commands[name] = (config) =>
    within(config, async (installation) => {
      // What is recorded before a restore is accepted would fork the chains for good.
      await requireNotBehind(installation.database, installation.checkpoints)
      console.log(await carryOut(installation, order, values))
      return true
    })

try {
  const act =
    commands[command ?? ''] ?? refuse(`There is no command ${command ?? '(none)'}; there are ${Object.keys(commands).join(', ')}.`)
  process.exitCode = (await act(parseConfig(process.env))) ? 0 : 1
} catch (error) {
  console.error(`gatehouse: ${error instanceof CopyRefused ? error.message : sentenceOf(error)}`)
  process.exitCode = 2
}
