/**
 * Whether no object in this JSON text names a member twice. Two parsers that keep different ones of the two read two
 * different tokens. The text must have passed JSON.parse, so only strings and brackets need telling apart.
 */
export const hasUniqueMembers = (json: string): boolean => {
  const open: (Set<string> | null)[] = []
  const token = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g
  for (let found = token.exec(json); found; found = token.exec(json)) {
    const [text, colon] = found
    if (text === '{') open.push(new Set())
    else if (text === '[') open.push(null)
    else if (text === '}' || text === ']') open.pop()
    else if (colon !== undefined) {
      // Compared as the parser reads it: "alg" and "\u0061lg" are one name.
      const name: string = JSON.parse(text.slice(0, -colon.length))
      const members = open.at(-1)
      if (members?.has(name)) return false
      members?.add(name)
    }
  }
  return true
}
