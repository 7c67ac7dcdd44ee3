import type { Sql } from '../faults/replay/room.ts'

/** A value that the tables allow in a column that tells a state, as a sentence and as a question. */
export interface StateValue {
  readonly name: string
  readonly table: string
  readonly where: string
}

/** Columns that tell a state. Others that a check lists words for tell a kind, which a row has from its first day to its last. */
const stateColumns = new Set(['state', 'status', 'reported_state', 'disable_mode', 'end_cause', 'result'])
const enumerated = /^CHECK \(\((\w+) = ANY \(ARRAY\[(.*)\]\)\)\)$/

/**
 * Every state value of the schema: each word that a check lists for a column of states, whether a moment that may be missing is there, and both sides of
 * each flag. Read from the catalogue, so that a new table or word is asked for without anybody listing it.
 */
export const stateValues = async (sql: Sql): Promise<StateValue[]> => {
  const checks = await sql<{ table: string; text: string }>(
    `select conrelid::regclass::text as table, pg_get_constraintdef(oid) as text from pg_constraint
      where contype = 'c' and connamespace = 'public'::regnamespace order by 1, conname`,
  )
  const moments = await sql<{ table: string; column: string }>(
    `select c.table_name as table, c.column_name as column from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_nullable = 'YES' and c.data_type = 'timestamp with time zone'
      order by 1, 2`,
  )
  const flags = await sql<{ table: string; column: string }>(
    `select c.table_name as table, c.column_name as column from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type = 'boolean' order by 1, 2`,
  )
  const words = checks.flatMap(({ table, text }) => {
    const [, column, list] = enumerated.exec(text) ?? []
    return column === undefined || !stateColumns.has(column)
      ? []
      : [...list!.matchAll(/'([^']*)'/g)].map(([, word]) => ({
          name: `${table}.${column} = ${word}`,
          table,
          where: `${column} = '${word}'`,
        }))
  })
  const presences = moments.flatMap(({ table, column }) => [
    { name: `${table}.${column} is null`, table, where: `${column} is null` },
    { name: `${table}.${column} is set`, table, where: `${column} is not null` },
  ])
  const sides = flags.flatMap(({ table, column }) => [
    { name: `${table}.${column}`, table, where: column },
    { name: `not ${table}.${column}`, table, where: `not ${column}` },
  ])
  return [...words, ...presences, ...sides]
}

/** Those of which the database holds no row. */
export const notReached = async (sql: Sql, values: readonly StateValue[]): Promise<string[]> => {
  const missing: string[] = []
  for (const { name, table, where } of values)
    if ((await sql(`select from ${table} where ${where} limit 1`)).length === 0) missing.push(name)
  return missing
}
