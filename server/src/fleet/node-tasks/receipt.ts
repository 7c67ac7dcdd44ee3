import { createPublicKey, verify } from 'node:crypto'
import { receiptTextOf, type TaskParams, type TaskResult } from '@gatehouse/contract/node-tasks'

/** Whether one of a node's keys (SPKI, base64) has signed what it says of a task. */
export const isReceiptSigned = (public_keys: readonly string[], task_id: string, result: TaskResult): boolean => {
  const text = Buffer.from(receiptTextOf(task_id, result))
  const signature = Buffer.from(result.receipt_signature ?? '', 'base64url')
  return public_keys.some((spki) => {
    const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyType === 'ec'
      ? verify('sha256', text, { key, dsaEncoding: 'ieee-p1363' }, signature)
      : verify(null, text, key, signature)
  })
}

type Receipt = NonNullable<TaskResult['receipt']>

/** What ends access or changes it is believed on a signed receipt alone (SG-19). */
const mustVouch = new Set<string>(['allocation.install_authorized_keys', 'allocation.deprovision_user'])

const isSame = (said: readonly string[] | undefined, asked: readonly string[]): boolean =>
  said === undefined || [...new Set(said)].sort().join() === [...new Set(asked)].sort().join()

/** Whatever a receipt tells of a set must be that set; of what was put away nothing is left. */
const isOfThatSet = (type: string, params: Asked['params'], { set_hash, fingerprints, grant_ids }: Receipt): boolean => {
  const { keys = [], set_hash: asked } = params as Partial<TaskParams<'allocation.install_authorized_keys'>>
  if (type === 'allocation.install_authorized_keys' && set_hash !== asked) return false
  const held = keys.map(({ fingerprint }) => fingerprint)
  const granted = keys.flatMap(({ holders }) => holders.flatMap(({ grant_id }) => grant_id ?? []))
  return isSame(fingerprints, held) && isSame(grant_ids, granted)
}

const isVouched = ({ type, params }: Asked, { outcome, receipt, receipt_signature }: TaskResult): boolean => {
  // What was not done says by its receipt which other set is in force.
  if (outcome !== 'completed') return !receipt?.applied_generation || receipt_signature !== undefined
  if (!mustVouch.has(type)) return true
  return receipt !== undefined && receipt_signature !== undefined && isOfThatSet(type, params, receipt)
}

interface Asked {
  readonly type: string
  readonly generation: number
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * Whether a result can be about this task: what is said to be applied must be its generation and its set; what it was left alone for must
 * be later, and nothing that the node was never sent.
 */
export const fits = (task: Asked, result: TaskResult, latest_sent: number): boolean => {
  const { generation } = task
  const { generation: answered, outcome, receipt } = result
  if (answered !== generation || !isVouched(task, result)) return false
  if (!receipt) return true
  const { applied_generation } = receipt
  if (applied_generation > latest_sent) return false
  if (outcome === 'failed') return true
  return outcome === 'completed' ? applied_generation === generation : applied_generation > generation
}
