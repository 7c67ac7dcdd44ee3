import pg from 'pg'

/** What the run's set-up hands to every worker: where the server is, and the migrated database that is copied for each test. */
export interface TestPostgres {
  superuserUrl: string
  template: string
  owner: { role: string; url: string }
  app: { role: string; url: string }
  /** Where it listens beside its port, if it is ours: a round trip there takes a quarter less of both processors. */
  socket_folder: string | null
}

export const asSuperuser = async <T>(url: string, act: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url, application_name: 'gatehouse-test' })
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}
