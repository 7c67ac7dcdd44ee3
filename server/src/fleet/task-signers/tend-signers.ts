import type { Database } from '#ground/db/database.ts'
import { newId } from '#ground/kernel/ids.ts'
import { systemWork, type Work } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { makeSigner, type SignerMaking } from './make-signer.ts'
import {
  activateSigner,
  endSigner,
  insertSigner,
  liveSigners,
  lockSigners,
  type NewSigner,
  type SignerRow,
  signersOfEarlierEpochs,
} from './task-signer-queries.ts'

export interface SignerTending extends SignerMaking {
  readonly database: Database
  readonly append: Append
}

type Version = Pick<SignerRow, 'kid' | 'version'>
const proof = systemProof('node_tending', 'platform.node.manage', {})

const noted = (work: Work, verb: 'stage' | 'activate' | 'retire', { kid, version }: Version, more: object = {}) =>
  record(work, {
    action: `node.signer.${verb}`,
    resource_type: 'task_signer',
    resource_id: kid,
    severity: verb === 'activate' ? 'high' : 'info',
    metadata: { version, ...more },
  })

const standingOf = (rows: readonly SignerRow[]) => ({
  active: rows.find(({ state }) => state === 'active'),
  staged: rows.find(({ state }) => state === 'staged'),
})

/** Behind the lock: whatever is still missing is put there, and what has had its time is put away. */
const settle = async (work: Work, made: NewSigner | undefined): Promise<void> => {
  await work.tx.one(lockSigners())
  const rows = await work.tx.many(liveSigners())
  const { active, staged } = standingOf(rows)
  const put_away = async (row: SignerRow, reason: string) => {
    await work.tx.one(endSigner(proof, row.kid, { state: 'retired', by: null, reason, now: work.now }))
    noted(work, 'retire', row, { reason })
  }
  for (const row of await work.tx.many(signersOfEarlierEpochs())) await put_away(row, 'made before a restore')
  for (const row of rows) if (row.state === 'grace' && row.grace_until! < work.now) await put_away(row, 'its grace is over')
  if (!active && staged) {
    await work.tx.one(activateSigner(proof, staged.kid, work.now))
    return noted(work, 'activate', staged)
  }
  if (!made || (active && staged)) return
  const inserted = await work.tx.maybe(insertSigner(proof, made, active ? 'staged' : 'active', work.now))
  if (inserted) noted(work, active ? 'stage' : 'activate', inserted)
}

/**
 * Sees to it that one version signs tasks, and that nodes know the next one ahead of its use. To be run at the start and now and then;
 * several processes may.
 */
export const tendSigners = async (tending: SignerTending): Promise<void> => {
  const { database, append } = tending
  // First one that signs, then the next one.
  for (const _ of ['active', 'staged']) {
    const { active, staged } = standingOf(await database.reader.many(liveSigners()))
    const made = active && staged ? undefined : await makeSigner(tending)
    await database.transaction('write', async (tx) => {
      const work = systemWork(tx, 'node_tending', newId('correlation'))
      await settle(work, made)
      await append(work)
    })
  }
}
