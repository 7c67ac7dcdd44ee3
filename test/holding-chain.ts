import pg from 'pg'
import type { LiveServer } from './live-server.ts'

/** Somebody has the end of this chain, and does not let go of it. */
export const holdingChain = async (
  { clone }: Pick<LiveServer, 'clone'>,
  chain_id: string,
  during: (look: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>) => Promise<void>,
): Promise<void> => {
  const client = new pg.Client({ connectionString: clone.ownerUrl, application_name: 'gatehouse-test' })
  await client.connect()
  try {
    await client.query('begin')
    await client.query('select from audit_heads where chain_id = $1 for update', [chain_id])
    await during(async (text, values = []) => (await client.query(text, values)).rows)
  } finally {
    await client.query('rollback')
    await client.end()
  }
}
