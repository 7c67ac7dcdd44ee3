import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CheckpointsRefused } from './checkpoint.ts'

/** Where checkpoints are kept, a line each. A store only ever grows. */
export interface CheckpointStore {
  /** The whole lines that begin at this place, and the place where the next one will. */
  linesFrom(place: number): Promise<{ lines: string[]; next: number }>
  /** Writes a line there; on return it survives a power cut. */
  append(place: number, line: string): Promise<void>
}

export const checkpointFile = (path: string): CheckpointStore => {
  const opened = async <T>(act: (file: Awaited<ReturnType<typeof open>>) => Promise<T>): Promise<T> => {
    await mkdir(dirname(path), { recursive: true })
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      return await act(file)
    } finally {
      await file.close()
    }
  }
  return {
    linesFrom: (place) =>
      opened(async (file) => {
        const { size } = await file.stat()
        if (size < place) throw new CheckpointsRefused('The checkpoint file has become shorter than it was.')
        const bytes = Buffer.alloc(Math.max(0, size - place))
        await file.read(bytes, 0, bytes.length, place)
        // What follows the last line end was being written when the machine stopped; nobody has relied on it.
        const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1)
        return { lines: whole.toString('utf8').split('\n').slice(0, -1), next: place + whole.length }
      }),
    append: (place, line) =>
      opened(async (file) => {
        await file.truncate(place)
        await file.write(`${line}\n`, place)
        await file.sync()
      }),
  }
}
