/** The parts of a bench that were asked for; without a word, all. A word that names none is a mistake, and not a run of nothing. */
export const wantedParts = <Name extends string, P>(parts: Readonly<Record<Name, P>>): [Name, P][] => {
  const wanted = process.argv.slice(3).filter((word) => word !== '--record')
  const unknown = wanted.filter((word) => !Object.hasOwn(parts, word))
  if (unknown.length > 0) {
    console.error(`There is no part ${unknown.join(', ')}: say ${Object.keys(parts).join(', ')}, or nothing for all.`)
    process.exit(1)
  }
  return (Object.entries(parts) as [Name, P][]).filter(([name]) => wanted.length === 0 || wanted.includes(name))
}
