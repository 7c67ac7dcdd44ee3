import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { type Client, ProblemError } from '@gatehouse/contract/client'
import { deliverRuntimeCredential, unwrapDelivery } from '@gatehouse/contract/runtime-credentials'

export interface Where {
  readonly params: { readonly org_id: string; readonly shared_runtime_id: string }
  readonly signal: AbortSignal
}

/** Whole or not at all, and readable by nobody else at any moment. */
const keep = async (file: string, secret: string): Promise<void> => {
  const beside = `${file}.new`
  await rm(beside, { force: true })
  const handle = await open(beside, 'wx', 0o600)
  try {
    await handle.writeFile(secret)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(beside, file)
}

/**
 * Once: where the file is there, it is left alone; who wants the secret anew removes the file. What opens the delivery is used in the same breath,
 * and an answer that was lost is not shown again: then the next round asks for another delivery.
 */
export const takeSecret = async ({ call }: Client, { params, signal }: Where, wanted: { readonly name: string; readonly file: string }) => {
  if (existsSync(wanted.file)) return 'kept'
  try {
    const { wrapping_token } = await call(deliverRuntimeCredential, { params, body: { name: wanted.name }, signal })
    const { secret } = await call(unwrapDelivery, { body: { wrapping_token }, signal })
    await keep(wanted.file, secret)
    return 'taken'
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'runtime_credential_not_found') return 'not_there_yet'
    throw error
  }
}
