import type { Database, Tx } from '../db/database.ts'
import { Problem } from '../kernel/problem.ts'
import { recentlyUsed } from '../kernel/recently-used.ts'
import { isStillSo, type Moment, platformScope, stampOf } from './moment.ts'
import { readMoment } from './read-moment.ts'
import { risingEpochs } from './rising.ts'
import { together } from './together.ts'

/** One kind of thing that is worth keeping, and how many of it are read at once. */
export interface Source<Key, Value> {
  readonly name: string
  /** One text per key and one key per text. */
  readonly textOf: (key: Key) => string
  /** In whose epoch it changes; null: in the platform's. */
  readonly tenantOf: (key: Key) => string | null
  /** In the order of the keys; undefined is nothing worth keeping. */
  readonly load: (tx: Tx, keys: readonly Key[]) => Promise<readonly (Value | undefined)[]>
  /** Whether that epoch tells all that can change about it; if not, it is read each time. Without it: always. */
  isToldByEpoch?(key: Key, value: Value): boolean
}

/** What no epoch tells: it is read for each question, together with what is kept, and never kept itself. */
export const readEachTime = <Key, Value>(source: Omit<Source<Key, Value>, 'isToldByEpoch'>): Source<Key, Value> => ({
  ...source,
  isToldByEpoch: () => false,
})

export interface Wanted<Value> {
  readonly id: string
  readonly tenant_id: string | null
  readonly source: Source<never, Value>
  readonly key: unknown
}
export const want = <Key, Value>(source: Source<Key, Value>, key: Key): Wanted<Value> => ({
  id: `${source.name} ${source.textOf(key)}`,
  tenant_id: source.tenantOf(key),
  source: source as Source<never, Value>,
  key,
})

type Values<W extends readonly Wanted<unknown>[]> = { -readonly [I in keyof W]: W[I] extends Wanted<infer V> ? V | undefined : never }

/** True at one moment, which lies after the question. */
export interface Known<W extends readonly Wanted<unknown>[]> {
  readonly moment: Moment
  readonly values: Values<W>
}

/** Reads for one request. What it proved once since it arrived it need not prove again, and has at once where it is kept. */
export interface FreshReader {
  /** How old what it read may become before it is no longer told as what is so now. */
  readonly limit_ms: number
  read<const W extends readonly Wanted<unknown>[]>(wanted: W): Known<W> | Promise<Known<W>>
}

export interface Fresh {
  /** To be called when the request is there. */
  forRequest(): FreshReader
  /** Whether something could be proved now. */
  isReady(): Promise<boolean>
}

interface Kept {
  readonly stamp: string
  readonly value: unknown
  /** The tenants that were asked about after this was read first: likely to be so again, so they are proved along with it. */
  lately: readonly string[]
}

const mostLately = 4

export interface FreshOptions {
  readonly most_entries?: number
  /** Longer than this, all reads of a request together, is as good as never. */
  readonly limit_ms?: number
}

const tenantsOf = (wanted: readonly Wanted<unknown>[], likely: readonly string[] = []): string[] => {
  const tenants = [...likely]
  for (const { tenant_id } of wanted) if (tenant_id !== null) tenants.push(tenant_id)
  return tenants
}

/** Before anything was read: it proves nothing. */
const nowhen: Moment = { now: '', epochs: new Map() }

/** Whether nothing of this tenant changed between the two. */
const isSame = (one: Moment, other: Moment, tenant_id: string | null) =>
  isStillSo(one.epochs.get(tenant_id ?? platformScope)?.stamp, other, tenant_id)

/** All of one source in one statement, all sources in one snapshot. */
const loadAll = async (tx: Tx, wanted: readonly Wanted<unknown>[]): Promise<Map<string, unknown>> => {
  const loaded = new Map<string, unknown>()
  const unique = new Map(wanted.map((each) => [each.id, each]))
  for (const [source, group] of Map.groupBy(unique.values(), ({ source }) => source)) {
    const values = await source.load(
      tx,
      group.map(({ key }) => key as never),
    )
    group.forEach(({ id }, index) => {
      loaded.set(id, values[index])
    })
  }
  return loaded
}

/** Keeps what was read, and proves before each use that it is still so. */
export const keepFresh = (database: Database, { most_entries = 200_000, limit_ms = 1000 }: FreshOptions = {}): Fresh => {
  const kept = recentlyUsed<Kept>(most_entries)
  const late = () => new Problem('dependency_unavailable', undefined, new Error(`no proof of freshness within ${limit_ms} ms`))

  const rising = risingEpochs(database.distrust)

  const prove = together(
    async (questions: readonly (readonly string[])[]) => {
      const tenants = questions.flat()
      return rising.read(tenants, async (judged) => {
        const moment = await readMoment(database.reader, tenants)
        judged(moment)
        return questions.map(() => moment)
      })
    },
    { late },
  )

  const load = together(
    async (questions: readonly { missing: readonly Wanted<unknown>[]; tenants: readonly string[] }[]) => {
      const tenants = questions.flatMap((question) => question.tenants)
      return rising.read(tenants, (judged) =>
        database.transaction('read', async (tx) => {
          const moment = await readMoment(tx, tenants)
          judged(moment)
          const loaded = await loadAll(
            tx,
            questions.flatMap(({ missing }) => missing),
          )
          return questions.map(() => ({ moment, loaded }))
        }),
      )
    },
    // Reading takes longer than proving: one more at a time, so that the database has something to do while rows are made into things.
    { most_runs: 2, most_questions: 64, late },
  )

  /** What is kept of these, if all of it is proved to be still so. */
  const provedIn = (
    moment: Moment,
    wanted: readonly Wanted<unknown>[],
    entries: readonly (Kept | undefined)[],
  ): Known<readonly Wanted<unknown>[]> | undefined => {
    const values: unknown[] = []
    for (let index = 0; index < wanted.length; index += 1) {
      const entry = entries[index]
      if (!entry || !isStillSo(entry.stamp, moment, wanted[index]!.tenant_id)) return undefined
      values.push(entry.value)
    }
    return { moment, values: values as never }
  }

  /** What is not kept is loaded, and once more where something moved meanwhile, until all of it is true at one moment. */
  const readMissing = async (
    wanted: readonly Wanted<unknown>[],
    proved: Moment,
    until: number,
  ): Promise<Known<readonly Wanted<unknown>[]>> => {
    let moment = proved
    const tenants = tenantsOf(wanted)
    const found = new Map<string, unknown>()
    for (let attempt = 1; ; attempt += 1) {
      found.clear()
      const missing = wanted.filter(({ id, tenant_id }) => {
        const entry = kept.get(id)
        if (!entry || !isStillSo(entry.stamp, moment, tenant_id)) return true
        found.set(id, entry.value)
        return false
      })
      if (missing.length === 0) break
      // Where things keep changing, everything is read in one snapshot, which needs no proof.
      const isWhole = attempt > 2
      const { moment: then, loaded } = await load({ missing: isWhole ? wanted : missing, tenants }, until)
      for (const each of isWhole ? wanted : missing) {
        const value = loaded.get(each.id)
        found.set(each.id, value)
        if (value !== undefined && (each.source.isToldByEpoch?.(each.key as never, value) ?? true))
          kept.set(each.id, { stamp: stampOf(then, each.tenant_id), value, lately: [] })
      }
      const isOne = isWhole || wanted.every(({ tenant_id }) => isSame(moment, then, tenant_id))
      moment = then
      if (isOne || missing.length === wanted.length) break
    }
    return { moment, values: wanted.map(({ id }) => found.get(id)) as never }
  }

  /** Whoever asked about these places is likely to ask about them next time, too. */
  const noteLately = (first: string, wanted: readonly Wanted<unknown>[]): void => {
    const entry = kept.get(first)
    if (!entry) return
    entry.lately = [...new Set([...tenantsOf(wanted), ...entry.lately])].slice(0, mostLately)
  }

  return {
    isReady: () =>
      prove(rising.fallen(), performance.now() + limit_ms).then(
        () => true,
        () => false,
      ),
    forRequest: () => {
      let first: string | undefined
      let proved: Moment | undefined
      let proved_at = 0
      // All reads of a request together have one limit, or three slow ones would make an answer three times as late.
      let left_ms = limit_ms

      const readAnew = async (
        wanted: readonly Wanted<unknown>[],
        entries: readonly (Kept | undefined)[],
        recent: Moment | undefined,
        began: number,
      ): Promise<Known<readonly Wanted<unknown>[]>> => {
        const until = began + left_ms
        const isProved = recent !== undefined && wanted.every(({ tenant_id }) => tenant_id === null || recent.epochs.has(tenant_id))
        if (first !== undefined && !isProved) noteLately(first, wanted)
        // Of what nothing is kept, nothing has to be proved: it is read together with its moment.
        const isUnknown = entries.every((entry) => entry === undefined)
        const likely = first === undefined ? entries[0]?.lately : undefined
        first ??= wanted[0]?.id
        const moment = isProved ? recent : isUnknown ? nowhen : await prove(tenantsOf(wanted, likely), until)
        const known = provedIn(moment, wanted, entries) ?? (await readMissing(wanted, moment, until))
        left_ms -= performance.now() - began
        proved = known.moment
        proved_at = began
        return known
      }

      return {
        limit_ms,
        read: (wanted) => {
          const began = performance.now()
          // A body may come long after its headers; a proof from before is then no proof any more.
          const recent = began - proved_at < limit_ms ? proved : undefined
          const entries = wanted.map(({ id }) => kept.get(id))
          // What was proved since the request came, and is kept, needs nobody to be asked.
          const known = recent && provedIn(recent, wanted, entries)
          return (known ?? readAnew(wanted, entries, recent, began)) as never
        },
      }
    },
  }
}
