import { isIPv4 } from 'node:net'
import type { Database } from '#ground/db/database.ts'
import { newId } from '#ground/kernel/ids.ts'
import { systemWork } from '#ground/work/work.ts'
import type { Append } from './append.ts'
import { record } from './record.ts'

const mostSources = 20

interface Counted {
  count: number
  /** Of the sources that were seen first; the others are only in the count. */
  readonly sources: Map<string, number>
}

/** The network an address belongs to: enough to see where a wave comes from, and few enough to keep. */
export const sourceOf = (address: string): string => {
  const plain = address.replace(/^::ffff:/i, '')
  if (isIPv4(plain)) return `${plain.split('.').slice(0, 3).join('.')}.0/24`
  const groups = plain.split('::')[0]!.split(':').slice(0, 3)
  return `${groups.filter((group) => group !== '').join(':')}::/48`
}

const add = (counted: Counted, source: string, count: number): void => {
  counted.count += count
  if (counted.sources.has(source) || counted.sources.size < mostSources)
    counted.sources.set(source, (counted.sources.get(source) ?? 0) + count)
}

export interface AuthRejections {
  /** A request was answered 401. Costs nothing but a count: strangers must not be able to fill the record. */
  note(code: string, address: string): void
  /** Writes what was counted since the last time: one row for each code, none if there was nothing. */
  flush(): Promise<void>
}

/**
 * Those who are nobody leave counts in the platform's chain, not rows. Whoever holds this calls `flush` once a minute and before
 * the process ends; what could not be written is kept and counted with what comes after it.
 */
export const authRejections = (database: Database, append: Append): AuthRejections => {
  let since = new Date().toISOString()
  let counts = new Map<string, Counted>()

  const note = (code: string, source: string, count: number) => {
    const counted = counts.get(code) ?? { count: 0, sources: new Map() }
    counts.set(code, counted)
    add(counted, source, count)
  }

  const write = (taken: typeof counts, from: string) =>
    database.transaction('write', async (tx) => {
      const work = systemWork(tx, 'token_gate', newId('correlation'))
      for (const [code, { count, sources }] of taken)
        record(work, {
          action: 'auth.token.reject',
          resource_type: 'token',
          resource_id: null,
          result: 'denied',
          reason_code: code,
          severity: 'warning',
          metadata: { count, from, to: tx.now, sources: Object.fromEntries(sources) },
        })
      await append(work)
    })

  return {
    note: (code, address) => note(code, sourceOf(address), 1),
    flush: async () => {
      if (counts.size === 0) return
      const [taken, from] = [counts, since]
      counts = new Map()
      since = new Date().toISOString()
      try {
        await write(taken, from)
      } catch (error) {
        since = from
        for (const [code, { count, sources }] of taken) {
          for (const [source, part] of sources) note(code, source, part)
          const unnamed = count - [...sources.values()].reduce((sum, part) => sum + part, 0)
          counts.get(code)!.count += unnamed
        }
        throw error
      }
    },
  }
}
