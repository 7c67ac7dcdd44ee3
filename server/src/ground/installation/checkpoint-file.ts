import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileFault } from '../kernel/file-faults.ts'
import { CheckpointsRefused } from './checkpoint.ts'

/** Where checkpoints are kept, a line each. A store only ever grows. */
export interface CheckpointStore {
  /** What an operator calls it. */
  readonly where: string
  /** The whole lines that begin at this place, and the place where the next one will. */
  linesFrom(place: number): Promise<{ lines: string[]; next: number }>
  /** Writes a line there; on return it survives a power cut. */
  append(place: number, line: string): Promise<void>
}

/** The same error, named after the setting. It is no refusal: a disk can be put right under a running server. */
const named =
  (path: string) =>
  (error: unknown): never => {
    const reason = fileFault(error)
    throw reason
      ? new Error(`The checkpoint file in GATEHOUSE_CHECKPOINT_FILE (${path}) cannot be used: ${reason}.`, { cause: error })
      : error
  }

/** Only writing makes the file: a path that was mistyped must not leave an empty one behind, which looks like a lost memory. */
export const checkpointFile = (path: string): CheckpointStore => {
  const opened = async <T>(flags: number, act: (file: FileHandle) => Promise<T>): Promise<T> => {
    const file = await open(path, flags, 0o600)
    return act(file).finally(() => file.close())
  }
  const isAbsent = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'
  return {
    where: path,
    linesFrom: (place) =>
      opened(constants.O_RDONLY, async (file) => {
        const { size } = await file.stat()
        if (size < place) throw new CheckpointsRefused(`The checkpoint file ${path} has become shorter than it was.`)
        const bytes = Buffer.alloc(Math.max(0, size - place))
        await file.read(bytes, 0, bytes.length, place)
        // What follows the last line end was being written when the machine stopped; nobody has relied on it.
        const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1)
        return { lines: whole.toString('utf8').split('\n').slice(0, -1), next: place + whole.length }
      }).catch((error: unknown) => {
        if (isAbsent(error) && place === 0) return { lines: [], next: 0 }
        if (isAbsent(error)) throw new CheckpointsRefused(`The checkpoint file ${path} is gone.`)
        return named(path)(error)
      }),
    append: async (place, line) => {
      try {
        await mkdir(dirname(path), { recursive: true })
        await opened(constants.O_RDWR | constants.O_CREAT, async (file) => {
          await file.truncate(place)
          await file.write(`${line}\n`, place)
          await file.sync()
        })
      } catch (error) {
        named(path)(error)
      }
    },
  }
}
