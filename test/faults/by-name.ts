/** What several rooms bring, in one; two of them with the same name are a mistake, and no quiet choice. */
export const byName = <T>(rooms: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> => {
  const all = rooms.flatMap((room) => Object.entries(room))
  const twice = all.map(([name]) => name).filter((name, at, names) => names.indexOf(name) !== at)
  if (twice.length > 0) throw new Error(`brought by two rooms: ${twice.join(', ')}`)
  return Object.fromEntries(all)
}
