import type { Operation } from '@gatehouse/contract/operation'

/** Of somebody who was identified before the body is read. */
export const bodyLimit = 256 * 1024
/** Of somebody who says in the body who they are. A credential, a form and a signing request have a tenth of it. */
export const strangerBodyLimit = 16 * 1024

const isOfStranger = ({ identified_by }: Operation): boolean => identified_by === 'credential' || identified_by === 'client'

const bodyLimitOf = (operation: Operation): number => (isOfStranger(operation) ? strangerBodyLimit : bodyLimit)

/** What reading a body took. */
export interface ReadingCost {
  readonly bytes: number
  /** Processor time of this thread. */
  readonly milliseconds: number
}

const bytesOfOne = 1024
/** A body of 16 KiB takes less: only what is out of the ordinary is counted, so that a pause of the runtime costs nobody anything. */
const ordinaryMs = 5

/** How many requests a request counts for: one, and one more for each KiB that was read, and for each millisecond where it took many. */
export const requestsIn = ({ bytes, milliseconds }: ReadingCost): number =>
  1 + Math.floor(bytes / bytesOfOne) + (milliseconds > ordinaryMs ? Math.floor(milliseconds) : 0)

/** What a stranger may send, and what they pay for it. */
export interface StrangerCost {
  readonly bodyLimitOf: (operation: Operation) => number
  readonly requestsIn: (reading: ReadingCost) => number
}
export const usualStrangerCost: StrangerCost = { bodyLimitOf, requestsIn }

/** Reads a body, and notes what that took, also where it is refused. */
export const readMeasured = (
  request: { reading: ReadingCost | undefined },
  bytes: Buffer,
  read: () => unknown,
  done: (error: Error | null, body?: unknown) => void,
): void => {
  const before = process.threadCpuUsage()
  let body: unknown
  let refusal: Error | null = null
  try {
    body = read()
  } catch (error) {
    refusal = error as Error
  }
  const { user, system } = process.threadCpuUsage(before)
  request.reading = { bytes: bytes.length, milliseconds: (user + system) / 1000 }
  done(refusal, body)
}
