import { nodeTasking, type Tasking } from '#fleet/node-tasks/tasking.ts'
import { ensureAuthority } from '#fleet/nodes/authority.ts'
import { doorHosts, doorOptions } from '#fleet/nodes/door.ts'
import type { Database } from '#ground/db/database.ts'
import type { PrimaryGuard } from '#ground/db/primary-guard.ts'
import { keySetSource } from '#machines/keys/key-set.ts'
import { createSigner } from '#machines/keys/signer.ts'
import type { Transit } from '#machines/keys/transit.ts'
import { createServer, type ServerParts } from '#rails/http/server.ts'
import { composed, type Parts, taskSubscribers } from './wiring.ts'

/** What differs between processes that hold the product: the server, a server under test, and one with faults. */
export interface Composing extends Omit<Parts, 'keys' | 'nodes' | 'tasks'> {
  /** Where the product looks after itself; the database of requests, unless a test puts something before that. */
  readonly own?: Database
  readonly transit: Transit | null
  /** A next signing key is needed; it is made aside. */
  readonly tendKeysSoon: () => void
  /** Under which address nodes reach their own door. A door whose port is not known yet is told later. */
  readonly nodes_url: string
  readonly tasking: Pick<Parameters<typeof nodeTasking>[0], 'database_url' | 'onError' | 'look_ms'> & { readonly primary?: PrimaryGuard }
}

/** The one place where the product is put together; who calls it adds how it is observed, listened to and stopped. */
export const compose = async ({ own, transit, tendKeysSoon, nodes_url, tasking: hearing, ...shared }: Composing) => {
  const { ring, append } = shared
  const database = own ?? shared.database
  const nodes = { authority: await ensureAuthority(database, ring, append), url: nodes_url }
  const tasking: Tasking = nodeTasking({ ...hearing, database, append, ring, authority: nodes.authority, subscribers: taskSubscribers })
  await tasking.tendSigners()
  const parts = composed({
    ...shared,
    keys: { want: keySetSource(ring), sign: createSigner({ ring, transit }), tendSoon: tendKeysSoon },
    nodes,
    tasks: tasking.tasks,
  })
  return { parts, tasking, nodes }
}

/** The nodes' own door, beside the server of the API: what is written aside ends with that one. */
export const createDoor = async ({ aside: _, ...parts }: ServerParts, nodes: Parts['nodes'], is_local: boolean) => {
  const hosts = doorHosts(nodes.url, is_local)
  const https = await doorOptions(nodes.authority, hosts, new Date())
  return { door: await createServer({ ...parts, listener: 'nodes', https }), hosts }
}
