import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'
import pg from 'pg'

/** Where the peer keeps its tokens: beside ours, in the same PostgreSQL. */
export const peerSchema = `
  create schema peer;
  create table peer.tokens (id text primary key, payload jsonb not null, expires_at timestamptz not null);
  grant usage on schema peer to gatehouse_app;
  grant select, insert, update, delete on peer.tokens to gatehouse_app`

const insert = `insert into peer.tokens (id, payload, expires_at) values ($1, $2, now() + make_interval(secs => $3))
  on conflict (id) do update set payload = excluded.payload, expires_at = excluded.expires_at`
const find = 'select payload from peer.tokens where id = $1 and expires_at > now()'

/** One lean statement each, prepared by name; what client_credentials never asks for is not there. */
export const inPostgres = (url: string) => {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  pool.on('error', () => {})
  const write = async (id: string, payload: object, expires_in: number): Promise<void> => {
    await pool.query({ name: 'insert', text: insert, values: [id, JSON.stringify(payload), expires_in] })
  }
  const never = async () => {
    throw new Error('this is not asked for here')
  }
  const adapter: Adapter = {
    upsert: write,
    find: async (id) => (await pool.query<{ payload: AdapterPayload }>({ name: 'find', text: find, values: [id] })).rows[0]?.payload,
    findByUid: never,
    findByUserCode: never,
    consume: never,
    destroy: never,
    revokeByGrantId: never,
  }
  /** Of the other kinds there are none here, and nobody has to look. */
  const none: Adapter = { ...adapter, find: async () => undefined }
  return { write, factory: ((kind) => (kind === 'ClientCredentials' ? adapter : none)) satisfies AdapterFactory }
}
