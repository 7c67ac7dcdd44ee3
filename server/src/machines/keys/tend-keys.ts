import type { Database } from '#ground/db/database.ts'
import { newId } from '#ground/kernel/ids.ts'
import { systemWork, type Work } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { isAsConfigured, isUsable, type KeyMaking, makeKey } from './make-key.ts'
import { activateKey, endKey, insertKey, type KeyRow, keysOfEarlierEpochs, liveKeys, lockKeys, type NewKey } from './signing-key-queries.ts'

export interface Tending extends KeyMaking {
  readonly database: Database
  readonly append: Append
}

/**
 * A process that has just started replaces a next key that is not of its kind, since whoever changes the configuration starts it anew. After
 * that it does so no more: two that are configured differently would replace each other's for ever.
 */
type Moment = 'at_start' | 'again'

/** What was found when all was done. */
export interface Tended {
  /** Whether this process can sign; if not, it issues nothing. */
  readonly can_sign: boolean
  /** Another process, differently configured, has made the next key. */
  readonly is_next_of_other_kind: boolean
}

const stateOf = (rows: readonly KeyRow[], making: KeyMaking, moment: Moment) => {
  const staged = rows.find(({ state }) => state === 'staged')
  const active = rows.find(({ state }) => state === 'active')
  const fits = staged !== undefined && (moment === 'again' || isAsConfigured(staged, making))
  return {
    staged,
    active,
    /** Without one that signs, the next one made or staged signs at once: there is nothing to wait for. */
    is_key_missing: active === undefined ? staged === undefined : !fits,
  }
}

const proof = systemProof('key_tending', 'platform.admin', {})

const noted = (work: Work, verb: string, { kid, alg, custody }: Pick<KeyRow, 'kid' | 'alg' | 'custody'>, more: object = {}) =>
  record(work, {
    action: `signing_key.${verb}`,
    resource_type: 'signing_key',
    resource_id: kid,
    severity: verb === 'activate' ? 'high' : 'info',
    metadata: { alg, custody, ...more },
  })

/** Behind the lock: whatever is still missing is put there, and what has had its time is put away. */
const settle = async (work: Work, tending: Tending, moment: Moment, made: NewKey | undefined): Promise<void> => {
  await work.tx.one(lockKeys())
  const rows = await work.tx.many(liveKeys())
  const { staged, active, is_key_missing } = stateOf(rows, tending, moment)
  const put_away = async (row: KeyRow, reason: string) => {
    await work.tx.one(endKey(proof, row.kid, { state: 'retired', by: null, reason, now: work.now }))
    noted(work, 'retire', row, { reason })
  }
  for (const row of await work.tx.many(keysOfEarlierEpochs())) await put_away(row, 'made before a restore')
  for (const row of rows) if (row.state === 'grace' && row.grace_until! < work.now) await put_away(row, 'its grace is over')
  if (!active && staged) {
    await work.tx.one(activateKey(proof, staged.kid, work.now))
    noted(work, 'activate', staged)
  }
  if (!made || !is_key_missing) return
  if (active && staged) await put_away(staged, 'another kind of key is configured')
  const inserted = await work.tx.maybe(insertKey(proof, made, active ? 'staged' : 'active', work.now))
  if (inserted) noted(work, active ? 'stage' : 'activate', inserted)
}

/**
 * Sees to it that there is a key that signs, and a next one that everybody can know ahead of its use. To be run at the start and now and
 * then; several processes may.
 */
export const tendKeys = async (tending: Tending, moment: Moment = 'at_start'): Promise<Tended> => {
  const { database, append } = tending
  // First one that signs, then the next one.
  for (const _ of ['active', 'staged']) {
    const before = stateOf(await database.reader.many(liveKeys()), tending, moment)
    // Made outside of the transaction: it may be made elsewhere, and take its time.
    const made = before.is_key_missing ? await makeKey(tending) : undefined
    await database.transaction('write', async (tx) => {
      const work = systemWork(tx, 'key_tending', newId('correlation'))
      await settle(work, tending, moment, made)
      await append(work)
    })
  }
  const { active, staged } = stateOf(await database.reader.many(liveKeys()), tending, moment)
  return {
    can_sign: active !== undefined && isUsable(active, tending),
    is_next_of_other_kind: staged !== undefined && !isAsConfigured(staged, tending),
  }
}

/** For one process: tends as at a start until that has succeeded once, a transit engine may be away for a while. */
export const keyTender = (tending: Tending): (() => Promise<Tended>) => {
  let moment: Moment = 'at_start'
  return async () => {
    const tended = await tendKeys(tending, moment)
    moment = 'again'
    return tended
  }
}
