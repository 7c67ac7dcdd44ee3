import { createPublicKey, verify } from 'node:crypto'
import { receiptTextOf, type TaskResult } from '@gatehouse/contract/node-tasks'

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

/** What ends access or changes it is believed on a signed receipt alone (SG-19). */
const mustVouch = new Set<string>(['allocation.install_authorized_keys', 'allocation.deprovision_user'])

const isVouched = ({ type, params }: Asked, { outcome, receipt, receipt_signature }: TaskResult): boolean => {
  if (outcome !== 'completed' || !mustVouch.has(type)) return true
  if (!receipt || receipt_signature === undefined) return false
  return type !== 'allocation.install_authorized_keys' || receipt.set_hash === params.set_hash
}

interface Asked {
  readonly type: string
  readonly generation: number
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * Whether a result can be about this task: what is said to be applied must reach its generation and be its set, what is left alone must be
 * older.
 */
export const fits = (task: Asked, result: TaskResult): boolean => {
  const { generation } = task
  const { generation: answered, outcome, receipt } = result
  if (answered !== generation || !isVouched(task, result)) return false
  if (!receipt || outcome === 'failed') return true
  return outcome === 'completed' ? receipt.applied_generation >= generation : receipt.applied_generation > generation
}
