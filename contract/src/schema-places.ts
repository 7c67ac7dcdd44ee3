/** What we read of a JSON Schema to find where something can stand in a value. */
export interface Schema {
  readonly type?: string
  readonly description?: string
  readonly pattern?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** The member names from the whole value to one place in it; `[]` stands for every item of a list. */
export type Path = readonly string[]

/** A schema and every schema within it, each with its path. Alternatives of one place share their path. */
export const placesIn = (schema: Schema | undefined, path: Path = []): { readonly path: Path; readonly schema: Schema }[] =>
  schema === undefined
    ? []
    : [
        { path, schema },
        ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => placesIn(member, [...path, name])),
        ...placesIn(schema.items, [...path, '[]']),
        ...(schema.anyOf ?? []).flatMap((each) => placesIn(each, path)),
      ]
