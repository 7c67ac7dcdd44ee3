import type { AddressInfo } from 'node:net'
import { bulkheads } from '@gatehouse/server/rails/http/tenant-database'
import { parseKeyRing } from '../../server/src/ground/custody/key-ring.ts'
import { openDatabase } from '../../server/src/ground/db/database.ts'
import { guardPrimary, type PrimaryGuard } from '../../server/src/ground/db/primary-guard.ts'
import { keepFresh } from '../../server/src/ground/epochs/fresh.ts'
import { auditKey } from '../../server/src/ground/installation/own-secrets.ts'
import { Secret } from '../../server/src/ground/kernel/secret.ts'
import { loggerOptions } from '../../server/src/ground/telemetry/logger-options.ts'
import { type Tending, tendKeys } from '../../server/src/machines/keys/tend-keys.ts'
import { humanTokens } from '../../server/src/people/principals/oidc/human-tokens.ts'
import { compose, createDoor } from '../../server/src/process/compose.ts'
import { appendWith } from '../../server/src/rails/audit/append.ts'
import { verifyChains } from '../../server/src/rails/audit/verify-chains.ts'
import { createServer, type ServerParts } from '../../server/src/rails/http/server.ts'
import { tokenIssuer } from '../live-server.ts'
import { unhurried } from '../unhurried.ts'
import { brokenAs } from './builds.ts'
import type { Settings } from './server-process.ts'
import { type Reached, withFaults } from './statement-faults.ts'

/** Where the pools of a server lead, where not to one place; and another guard than the one that a process has. */
export interface Reaching {
  readonly deciding_url?: string
  readonly primary?: PrimaryGuard
}

/** The product as server/src/main.ts composes it, without checkpoints and metrics, with seams in its database and, where a test wants it, one mistake. */
export const composeServer = async (
  { appUrl, issuer, keys, cursorKey, build, logLevel, has_door = false, deadlines }: Settings,
  reached: Reached,
  { deciding_url, primary }: Reaching = {},
) => {
  const guard = primary ?? guardPrimary()
  const direct = openDatabase({
    primary: guard,
    ...(deadlines ? { statement_timeout_ms: deadlines.statement_ms, round_trip_ms: deadlines.round_trip_ms } : unhurried.database),
    url: appUrl,
    onError: (error) => logLevel === 'silent' || console.error(`database: ${error.message}`),
  })
  const database = withFaults(direct, reached)
  const deciding =
    deciding_url === undefined ? undefined : openDatabase({ url: deciding_url, primary: guard, max_connections: 3, ...unhurried.database })
  const ring = parseKeyRing(keys)
  const key = await auditKey(direct, ring)
  const append = appendWith({ region: 'test', key })
  // A key of this kind may sign as soon as it is there: nobody waits for an age.
  const tending: Tending = { database: direct, append, ring, transit: null, algorithm: 'HS256' }
  await tendKeys(tending)
  let tended: Promise<unknown> = Promise.resolve()
  const tokens = humanTokens([issuer])
  const broken = brokenAs(build)
  const {
    nodes,
    tasking,
    parts: product,
  } = await compose({
    ...{ database, own: direct, append, ring, tokens, transit: null },
    fresh: keepFresh(deciding ?? database, deadlines ? { limit_ms: deadlines.decision_ms } : unhurried.fresh),
    verify: async () => ({ ...(await direct.transaction('read', (tx) => verifyChains(tx, key))), checkpoints: 0, accepted: [] }),
    cursor_key: new Secret(cursorKey),
    issuer: tokenIssuer,
    tendKeysSoon: () => {
      tended = tendKeys(tending).catch(() => {})
    },
    // Told to nodes when they are asked for, which is when the door has its port.
    nodes_url: 'https://127.0.0.1:0',
    tasking: {
      database_url: appUrl,
      primary: guard,
      onError: (error) => logLevel === 'silent' || console.error(`tasks: ${error.message}`),
    },
    patience_ms: deadlines?.decision_ms ?? unhurried.patience_ms,
  })
  const parts: ServerParts = {
    ...product,
    bulkheads: bulkheads(database),
    ...(deadlines ? {} : { slowness: unhurried.slowness }),
    logger: loggerOptions(logLevel),
  }
  const used = broken.parts?.(parts, direct) ?? parts
  const app = await createServer(used)
  const door = has_door ? (await createDoor(used, nodes, true)).door : undefined
  broken.server?.(app.server)
  return {
    server: app.server,
    door: door?.server,
    listen: async () => {
      await app.listen({ host: '127.0.0.1', port: 0 })
      return (app.server.address() as AddressInfo).port
    },
    /** Where nodes come to, if they may. */
    listenToNodes: async (): Promise<string | null> => {
      if (!door) return null
      await door.listen({ host: '127.0.0.1', port: 0 })
      nodes.url = `https://127.0.0.1:${(door.server.address() as AddressInfo).port}`
      return nodes.url
    },
    close: async () => {
      await Promise.all([app.close(), door?.close()])
      tokens.stop()
      await tended
      await tasking.close()
      await Promise.all([direct.close(), deciding?.close()])
    },
  }
}
