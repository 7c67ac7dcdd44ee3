import { crc32 } from 'node:zlib'
import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { CopyRefused } from './copy-refused.ts'

/**
 * A backup is a gzip file. Unpacked: a line of JSON that says what it is, then for each table pieces of PostgreSQL's own copy format,
 * each after a line with its length, and a line with the number of rows; the last line is the seal, a gzip member of its own:
 * the hash of every byte before it. The seal is the same in all versions, so that a whole file of another version is told from a broken one.
 */
export const formatVersion = 2

/** A column that numbers its rows, and the last number that it gave: what comes after a restore must come after all that was before. */
export const NumberedColumn = Exactly({ table: Type.String(), column: Type.String(), last: Type.String({ pattern: '^[0-9]{1,18}$' }) })

const Header = Exactly({
  format: Type.Literal('gatehouse-backup'),
  version: Type.Literal(formatVersion),
  created_at: Type.String(),
  installation_id: Type.String(),
  epoch: Type.Integer({ minimum: 1 }),
  migrations: Type.Array(Exactly({ name: Type.String(), hash: Type.String() })),
  tables: Type.Array(Exactly({ name: Type.String(), columns: Type.Array(Type.String()) })),
  numbered: Type.Array(NumberedColumn),
})
export type Header = Static<typeof Header>
const Piece = Exactly({ bytes: Type.Integer({ minimum: 1 }) })
const TableEnd = Exactly({ table: Type.String(), rows: Type.Integer({ minimum: 0 }) })

const AnyVersion = Type.Object({ format: Type.Literal('gatehouse-backup'), version: Type.Integer() })
const header = Compile(Header)
const anyVersion = Compile(AnyVersion)
const inTable = Compile(Type.Union([Piece, TableEnd]))

export const lineOf = (value: Header | Static<typeof Piece> | Static<typeof TableEnd>): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)

export const parseHeader = (value: unknown): Header => {
  if (header.Check(value)) return value
  if (anyVersion.Check(value) && value.version !== formatVersion)
    throw new CopyRefused(`The backup is of format ${value.version}; this version of Gatehouse reads format ${formatVersion}.`)
  throw new CopyRefused('The file is not a Gatehouse backup.')
}

export const parseInTable = (value: unknown): Static<typeof Piece> | Static<typeof TableEnd> => {
  if (inTable.Check(value)) return value
  throw new CopyRefused('The backup is damaged: a table in it does not read as one.')
}

// A gzip member that is stored and not packed, so that its length and every bit of it are known.
const sealText = (sha256: string) => Buffer.from(`{"sha256":"${sha256}"}\n`)
const textLength = sealText('0'.repeat(64)).length
export const sealStart = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, textLength, 0, 0xff - textLength, 0xff])
export const sealLength = sealStart.length + textLength + 8

export const sealOf = (sha256: string): Buffer => {
  const text = sealText(sha256)
  const end = Buffer.alloc(8)
  end.writeUInt32LE(crc32(text), 0)
  end.writeUInt32LE(text.length, 4)
  return Buffer.concat([sealStart, text, end])
}

const longestLine = 1 << 20
const endsEarly = () => new CopyRefused('The backup is damaged: it ends before its tables do.')

/** Reads lines and pieces from bytes that come as they come. */
export const unframed = (source: AsyncIterable<Buffer>) => {
  const iterator = source[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  const more = async (): Promise<boolean> => {
    const { value, done } = await iterator.next()
    if (done) return false
    held = held.length === 0 ? value : Buffer.concat([held, value])
    return true
  }
  return {
    line: async (): Promise<unknown> => {
      for (let end = held.indexOf('\n'); ; end = held.indexOf('\n')) {
        if (end >= 0) {
          const text = held.toString('utf8', 0, end)
          held = held.subarray(end + 1)
          try {
            return JSON.parse(text)
          } catch {
            throw new CopyRefused('The file is not a Gatehouse backup: a line in it does not read as one.')
          }
        }
        if (held.length > longestLine || !(await more())) throw endsEarly()
      }
    },
    bytes: async function* (count: number): AsyncGenerator<Buffer> {
      for (let left = count; left > 0; ) {
        if (held.length === 0 && !(await more())) throw endsEarly()
        const piece = held.subarray(0, left)
        held = held.subarray(piece.length)
        left -= piece.length
        yield piece
      }
    },
    /** Reads on until nothing comes. */
    isAtEnd: async (): Promise<boolean> => held.length === 0 && !(await more()),
    close: async (): Promise<void> => void (await iterator.return?.()),
  }
}

export type Unframed = ReturnType<typeof unframed>
