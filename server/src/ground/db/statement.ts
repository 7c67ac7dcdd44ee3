import { createHash } from 'node:crypto'
import type { Static, TObject, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

/** SQL with its values, the name it is prepared under, and the shape every row of it must have. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
  readonly parse: (row: unknown) => Row
}

class Fragment {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const names = new Map<string, string>()
const nameOf = (text: string): string => {
  const known = names.get(text)
  if (known) return known
  const name = `g_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
  names.set(text, name)
  return name
}

// By the place in the code as well as by the shape: most shapes are written where they are used, and would be compiled at each use.
const parsers = new WeakMap<TemplateStringsArray, { members: string; parse: (row: unknown) => unknown }>()
const membersOf = (schema: TSchema): string => Object.keys((schema as { properties?: object }).properties ?? {}).join()
const parserOf = <S extends TSchema>(strings: TemplateStringsArray, schema: S): ((row: unknown) => Static<S>) => {
  const known = parsers.get(strings)
  const members = membersOf(schema)
  if (known?.members === members) return known.parse as (row: unknown) => Static<S>
  const compiled = Compile(schema)
  const parse = (row: unknown): Static<S> => {
    if (compiled.Check(row)) return row as Static<S>
    // Paths only: a value may be a secret, and this ends in a log.
    const where = compiled.Errors(row).map((error) => `${error.instancePath || '/'} ${error.message}`)
    throw new Error(`a row does not have its shape: ${where.slice(0, 3).join('; ')}`)
  }
  parsers.set(strings, { members, parse })
  return parse
}

/** Rows are parsed, not believed: `sql(Shape)\`select …\``. */
export const sql =
  <S extends TSchema>(shape: S) =>
  (strings: TemplateStringsArray, ...given: readonly unknown[]): Statement<Static<S>> => {
    const values: unknown[] = []
    let text = strings[0] ?? ''
    given.forEach((value, index) => {
      text += value instanceof Fragment ? value.text : `$${values.push(value)}`
      text += strings[index + 1]
    })
    return { name: nameOf(text), text, values, parse: parserOf(strings, shape) }
  }

/** The select list of a shape, so that it cannot drift from it. */
export const columns = (shape: TObject, of?: string): Fragment =>
  new Fragment(
    Object.keys(shape.properties)
      .map((name) => (of ? `${of}.${name}` : name))
      .join(', '),
  )

/** A part that several statements share; it is code, and never holds a value. */
export const sqlPart = (text: string): Fragment => new Fragment(text.trim())

/** A name that the code knows, as a part of a statement's text. */
export const identifier = (name: string): Fragment => {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error('not an identifier of ours')
  return new Fragment(name)
}
