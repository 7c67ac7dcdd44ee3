import type { Database, Reader, Tx } from '../server/src/ground/db/database.ts'
import type { Statement } from '../server/src/ground/db/statement.ts'

/** What becomes of a statement: another text, other rows, or an error. */
export interface Alteration {
  /** A part of its text by which it is known. */
  readonly of: string | RegExp
  readonly text?: (text: string) => string
  readonly rows?: (rows: readonly unknown[]) => readonly unknown[]
  /** Waited for when it is done. */
  readonly after?: () => Promise<unknown>
  /** Instead of the statement itself. */
  readonly instead?: (statement: Statement<unknown>) => Promise<readonly unknown[]>
}

const isOf = ({ of }: Alteration, text: string): boolean => (typeof of === 'string' ? text.includes(of) : of.test(text))

/** A build with a mistake in its statements: the product as it is, over a database that runs some of them in another way. */
export const alteredDatabase = (database: Database, ...alterations: readonly Alteration[]): Database => {
  const many =
    (reader: Reader): Reader['many'] =>
    async (statement) => {
      const found = alterations.filter((each) => isOf(each, statement.text))
      const instead = found.find((each) => each.instead)?.instead
      if (instead) return (await instead(statement as Statement<unknown>)) as never
      const text = found.reduce((so_far, each) => each.text?.(so_far) ?? so_far, statement.text)
      const name = text === statement.text ? statement.name : `altered_${statement.name}`
      const rows = await reader.many({ ...statement, text, name })
      for (const { after } of found) await after?.()
      return found.reduce<readonly unknown[]>((so_far, each) => each.rows?.(so_far) ?? so_far, rows) as never
    }
  const altered = <R extends Reader>(reader: R): R => {
    const all = many(reader)
    const some = async (statement: Statement<never>, most: 0 | 1) => {
      const rows = await all(statement)
      if (rows.length > 1 || rows.length < most) throw new Error(`${rows.length} rows`)
      return rows[0]
    }
    return {
      ...reader,
      many: all,
      one: (statement: Statement<never>) => some(statement, 1),
      maybe: (statement: Statement<never>) => some(statement, 0),
    } as R
  }
  return {
    ...database,
    reader: altered(database.reader),
    transaction: (mode, within, options) => database.transaction(mode, (tx: Tx) => within(altered(tx)), options),
  }
}
