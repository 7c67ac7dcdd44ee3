import pg from 'pg'
import type { Passwords } from './passwords.ts'

export const urlOf = (user: string, password: string, port: number, database: string) =>
  `postgresql://${user}:${password}@127.0.0.1:${port}/${database}`

/** The roles and the database that a production installation gets from its administrator. Safe to repeat. */
export const provision = async (superuserUrl: string, passwords: Passwords): Promise<void> => {
  const client = new pg.Client({ connectionString: superuserUrl, ssl: false })
  await client.connect()
  try {
    // A failing statement is logged with its text, and these texts hold passwords.
    await client.query('set log_min_error_statement = panic')
    const lacks = async (text: string, name: string) => (await client.query(text, [name])).rowCount === 0
    for (const [name, password] of [
      ['gatehouse_owner', passwords.owner],
      ['gatehouse_app', passwords.app],
    ] as const) {
      if (await lacks('select from pg_roles where rolname = $1', name))
        await client.query(`create role ${name} login password ${client.escapeLiteral(password)}`)
    }
    if (await lacks('select from pg_database where datname = $1', 'gatehouse'))
      await client.query('create database gatehouse owner gatehouse_owner')
    await client.query('revoke all on database gatehouse from public')
    await client.query('grant connect on database gatehouse to gatehouse_app')
  } finally {
    await client.end()
  }
}
