// Real hands in a process of its own that ends outright at one step of writing a file: `node mortal-writer.ts ORDER STEP`. ORDER is JSON.
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname } from 'node:path'
import type { TaskParams } from '@gatehouse/contract/node-tasks'
import type { Layout } from '../../agent/src/ssh/layout.ts'

export interface Order {
  readonly layout: Layout
  readonly params: TaskParams<'allocation.install_authorized_keys'>
  readonly generation: number
  /** Writes into the file itself instead of beside it: what a test must find. */
  readonly is_in_place?: boolean
}

const [order_text = '', step = ''] = process.argv.slice(2)
const { layout, params, generation, is_in_place = false } = JSON.parse(order_text) as Order
const file = `${layout.keys_dir}/${params.username}`

const dieAt = (here: string): void => {
  if (here === step) process.kill(process.pid, 'SIGKILL')
}

/** The file system as it is, but for the moment at which the power goes. */
const { open, rename } = fs
const mortal = (handle: FileHandle, path: string): FileHandle => {
  const { writeFile, sync } = handle
  const is_folder = path === dirname(file)
  if (!path.startsWith(file) && !is_folder) return handle
  dieAt('after it is made')
  handle.writeFile = async (text) => {
    if (step === 'amid the writing') await writeFile.call(handle, String(text).slice(0, String(text).length - 40))
    dieAt('amid the writing')
    await writeFile.call(handle, text)
    dieAt('before it is on disk')
  }
  handle.sync = async () => {
    dieAt(is_folder ? 'before its name is on disk' : 'amid bringing it to disk')
    await sync.call(handle)
    dieAt(is_folder ? 'after its name is on disk' : 'after it is on disk')
  }
  return handle
}
fs.open = async (path, ...how) => {
  const is_keys = String(path).startsWith(file)
  if (is_keys) dieAt('before it is made')
  return mortal(await (is_keys && is_in_place ? open(file, 'w', 0o644) : open(path, ...how)), String(path))
}
fs.rename = async (from, to) => {
  if (is_in_place && to === file) return
  await rename(from, to)
  if (to === file) dieAt('after it has its name')
}
syncBuiltinESMExports()

const { realHands } = await import('../../agent/src/ssh/real-hands.ts')
const hands = await realHands(layout)(async () => {})
await hands.installKeys(params, generation)
