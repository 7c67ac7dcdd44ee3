export type Sql = <Row = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>

export interface Recorded {
  readonly chain_id: string
  readonly seq: number
  readonly correlation_id: string
  readonly action: string
  readonly actor_id: string
  readonly resource_id: string
  readonly tenant_id: string | null
  readonly project_id: string | null
  // biome-ignore lint/suspicious/noExplicitAny: each action has its own
  readonly metadata: any
}

/** What a recorded action does to the world; false if it could not have happened there. */
export type Step<Seen> = (state: Seen, row: Recorded) => boolean

/** What one room's tables say, and what the record says was done to them. */
export interface Room<Own, Seen extends Own = Own> {
  readonly read: (sql: Sql) => Promise<Own>
  /** Every entry as one line of text, so that two worlds can be compared. */
  readonly lines: (state: Own) => string[]
  /** By recorded action; some touch what other rooms have. */
  readonly steps: Readonly<Record<string, Step<Seen>>>
}

/** Statements that give each row as one `line`; with its `id`; or with an `id` and whatever else. */
export const linesIn = async (sql: Sql, text: string): Promise<Set<string>> =>
  new Set((await sql<{ line: string }>(text)).map(({ line }) => line))
export const lineById = async (sql: Sql, text: string): Promise<Map<string, string>> =>
  new Map((await sql<{ id: string; line: string }>(text)).map(({ id, line }) => [id, line]))
export const rowById = async <Row>(sql: Sql, text: string): Promise<Map<string, Row>> =>
  new Map((await sql<Row & { id: string }>(text)).map(({ id, ...row }) => [id, row as unknown as Row]))
