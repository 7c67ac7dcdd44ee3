import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { fileFault } from '../../kernel/file-faults.ts'
import { CopyRefused } from './copy-refused.ts'

/** The same error, as a sentence where it is the file's. */
export const fileRefused =
  (what: string) =>
  (error: unknown): never => {
    const reason = fileFault(error)
    throw reason && !(error instanceof CopyRefused) ? new CopyRefused(`${what}: ${reason}.`, { cause: error }) : error
  }

const synced = async (path: string) => {
  const opened = await open(path, 'r')
  await opened.sync().finally(() => opened.close())
}

/**
 * Under its name the file is whole, proved, and survives a power cut, or it is not there. Only its owner may read it. One that was refused is kept
 * under another name: it may be all that there is.
 */
export const keptFile = async (
  path: string,
  write: (destination: Writable) => Promise<void>,
  prove: (written: string) => Promise<void>,
): Promise<void> => {
  const refuse = fileRefused(`The backup cannot be written to ${path}`)
  if (await stat(path).catch(() => null)) throw new CopyRefused(`${path} exists already; a backup does not overwrite another.`)
  const unfinished = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.unfinished`)
  try {
    await write(createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true }))
    const refusal = await prove(unfinished).then(
      () => null,
      (error: unknown) => (error instanceof CopyRefused ? error : Promise.reject(error)),
    )
    await rename(unfinished, refusal ? `${path}.unproved` : path)
    await synced(dirname(path))
    if (refusal)
      throw new CopyRefused(`${refusal.message} The backup is kept as ${path}.unproved; do not rely on it.`, {
        cause: refusal.cause ?? refusal,
      })
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {})
    refuse(error)
  }
}
