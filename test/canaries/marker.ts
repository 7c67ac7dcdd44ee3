import { randomBytes } from 'node:crypto'

/** A text that stands nowhere else in the world: wherever it is found, it came from where it was put. */
export interface Marker {
  readonly place: string
  readonly text: string
  /** Where it may be found, and why that is right; everywhere else it is a leak. */
  readonly may: Readonly<Record<string, string>>
}

export const markerText = () => `canary${randomBytes(12).toString('hex')}`
/** For places that take digits only; the first is no zero, and none is lost where it is read as a number. */
export const markerDigits = () => `7${randomBytes(7).readUIntBE(0, 6).toString().padStart(15, '3').slice(0, 14)}`

/** As somebody might find it who looks for it: plain, in base64 at any offset, in hexadecimal, in a URL. */
const spellingsOf = (text: string): string[] => {
  const bytes = Buffer.from(text)
  // Three offsets, without the characters at both ends that depend on their neighbours.
  const encoded = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '')
      .slice(offset === 0 ? 0 : 4, -4),
  )
  const url = encodeURIComponent(text)
  return [
    ...new Set([text, ...encoded, ...encoded.map((each) => each.replaceAll('+', '-').replaceAll('/', '_')), bytes.toString('hex'), url]),
  ]
}

export interface Found {
  readonly marker: Marker
  readonly where: string
}

const begins = 6

/**
 * Tells which markers stand in some bytes; bytes, so that nothing hides in what is no text. Most spellings begin alike, so each
 * beginning is looked for once, and only where one is found is the rest compared.
 */
export const finder = (markers: readonly Marker[]) => {
  const beginnings = new Map<string, { spellings: Map<string, Marker>; lengths: Set<number> }>()
  for (const marker of markers)
    for (const spelling of spellingsOf(marker.text)) {
      const beginning = spelling.slice(0, begins)
      const group = beginnings.get(beginning) ?? { spellings: new Map(), lengths: new Set() }
      group.spellings.set(spelling, marker)
      group.lengths.add(spelling.length)
      beginnings.set(beginning, group)
    }
  return (bytes: Buffer): Set<Marker> => {
    const found = new Set<Marker>()
    for (const [beginning, { spellings, lengths }] of beginnings)
      for (let at = bytes.indexOf(beginning, 0, 'latin1'); at >= 0; at = bytes.indexOf(beginning, at + 1, 'latin1'))
        for (const length of lengths) {
          const marker = spellings.get(bytes.toString('latin1', at, at + length))
          if (marker) found.add(marker)
        }
    return found
  }
}

/** Where each marker is. */
export const search = (markers: readonly Marker[], places: ReadonlyMap<string, Buffer>): Found[] => {
  const markersIn = finder(markers)
  return [...places].flatMap(([where, bytes]) => [...markersIn(bytes)].map((marker) => ({ marker, where })))
}

export const leaksAmong = (found: readonly Found[]): string[] =>
  found.filter(({ marker, where }) => !Object.hasOwn(marker.may, where)).map(({ marker, where }) => `${marker.place} was found in ${where}`)
