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

/** Whether a result can be about a task of this generation: what is said to be applied must reach it, what is left alone must be older. */
export const fits = (generation: number, { generation: answered, outcome, receipt }: TaskResult): boolean => {
  if (answered !== generation) return false
  if (!receipt || outcome === 'failed') return true
  return outcome === 'completed' ? receipt.applied_generation >= generation : receipt.applied_generation > generation
}
