import { seeded } from '../live-server.ts'

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
/** Words of a recipe, which nothing else has. */
const word = /w\d+-[0-9a-f]{8}/g
const pem = /-----BEGIN ([A-Z ]+)-----[\s\S]*?-----END \1-----/g
const signed = /eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g
const ours = /\b(gh[a-z]{2}_)[A-Za-z0-9_-]{20,}/g
const digest = /[A-Za-z0-9+/_-]{40,}={0,2}/g

const kept = new Set<string>([
  ...Object.values(seeded.org),
  ...Object.values(seeded.project),
  ...seeded.usernames.map((name) => seeded.user(name)),
])
const recordedAt = Date.parse('2026-01-31T12:00:00.000Z')
const minute_ms = 60_000
const month_s = 31 * 86_400

/**
 * A real answer as an example: the same each time that it is recorded, and with nothing in it that opens anything. Ids are numbered as they
 * appear, instants are counted from one moment, and secrets, signatures and hashes keep their form only.
 */
export const tidied = () => {
  const ids = new Map<string, string>()
  const words = new Map<string, string>()
  const numbered = (known: Map<string, string>, found: string, name: (n: number) => string): string => {
    const before = known.get(found)
    if (before !== undefined) return before
    const made = name(known.size + 1)
    known.set(found, made)
    return made
  }
  const idOf = (found: string) =>
    kept.has(found) ? found : numbered(ids, found, (n) => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`)
  const text = (said: string): string => {
    if (instant.test(said)) {
      const minutes = Math.round((Date.parse(said) - Date.now()) / minute_ms)
      return new Date(recordedAt + minutes * minute_ms).toISOString()
    }
    const longs: string[] = []
    return said
      .replaceAll(pem, `-----BEGIN $1-----\n${`${'A'.repeat(64)}\n`.repeat(4)}-----END $1-----`)
      .replaceAll(uuid, (found) => {
        longs.push(idOf(found))
        return `\u0001${longs.length - 1}\u0001`
      })
      .replaceAll(word, (found) => numbered(words, found, (n) => `example-${n}`))
      .replaceAll(signed, (found) => found.replaceAll(/[A-Za-z0-9_-]{12,}/g, (piece) => `${piece.slice(0, 3)}${'x'.repeat(9)}`))
      .replaceAll(ours, (found, prefix: string) => `${prefix}${'x'.repeat(Math.min(found.length - prefix.length, 49))}`)
      .replaceAll(digest, (found) => (found.startsWith('gh') ? found : found.replaceAll(/[^=]/g, /^[0-9a-f]+$/.test(found) ? '0' : 'A')))
      .replaceAll(/\u0001(\d+)\u0001/g, (_, at: string) => longs[Number(at)]!)
  }
  const value = (told: unknown): unknown => {
    if (typeof told === 'string') return text(told)
    // Two items show what a list is, and eight words.
    if (Array.isArray(told)) return told.slice(0, typeof told[0] === 'string' ? 8 : 2).map(value)
    if (typeof told === 'number')
      return Math.abs(told - Date.now() / 1000) < month_s ? Math.round(told - Date.now() / 1000 + recordedAt / 1000) : told
    if (typeof told !== 'object' || told === null) return told
    return Object.fromEntries(Object.entries(told).map(([name, member]) => [name, value(member)]))
  }
  return value
}
