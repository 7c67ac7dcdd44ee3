import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { sealLength, sealOf, sealStart } from './backup-format.ts'
import { CopyRefused } from './copy-refused.ts'

/** How much of the file its seal vouches for, and with which hash. */
export interface SealedPart {
  readonly length: number
  readonly sha256: string
}

const at = async (file: FileHandle, position: number, length: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await file.read(bytes, 0, length, position)
  return bytes.subarray(0, bytesRead)
}

/** Reads the whole file once, before anything in it is believed. It finds accidents: who may write the file may also seal it. */
export const sealedPart = async (file: FileHandle): Promise<SealedPart> => {
  const { size } = await file.stat()
  const length = size - sealLength
  if (!(await at(file, 0, 4)).equals(Buffer.from([0x1f, 0x8b, 8, 0]))) throw new CopyRefused('The file is not a Gatehouse backup.')
  const seal = length > 0 ? await at(file, length, sealLength) : Buffer.alloc(0)
  if (!seal.subarray(0, sealStart.length).equals(sealStart))
    throw new CopyRefused('The file is not a whole Gatehouse backup: it is cut short, or something was added to its end.')
  const hash = createHash('sha256')
  for await (const piece of file.createReadStream({ start: 0, end: length - 1, autoClose: false })) hash.update(piece as Buffer)
  const sha256 = hash.digest('hex')
  if (!seal.equals(sealOf(sha256)))
    throw new CopyRefused('The backup is damaged: its contents do not have the hash that was written with them.')
  return { length, sha256 }
}
