import pg from 'pg'

/** A fingerprint of every row of every table, generated columns included; not that it was restored, which also moves every epoch. The list of migrations tells of the database itself. */
export const tablePrints = async (url: string): Promise<Record<string, string>> => {
  const client = new pg.Client({ connectionString: url, application_name: 'gatehouse-test' })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select tablename::text as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations' order by 1`,
    )
    const prints: Record<string, string> = {}
    for (const { name } of tables) {
      const { rows } = await client.query<{ print: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(md5(t.print), '' order by md5(t.print) collate "C")), '') as print
           from (select (to_jsonb(r) - $1::text[])::text as print from ${name} r) t`,
        [name === 'epochs' ? ['value', 'stamp'] : ['is_restored']],
      )
      prints[name] = rows[0]!.print
    }
    return prints
  } finally {
    await client.end()
  }
}

export const isEmptyPrint = (print: string): boolean => print === '0 '
