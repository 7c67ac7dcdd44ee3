import { setTimeout as sleep } from 'node:timers/promises'
import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'

/** Waits until the address answers 200. */
export const answering = async (name: string, url: string, signal: AbortSignal, seconds = 60): Promise<void> => {
  let last = 'no answer'
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(50)) {
    signal.throwIfAborted()
    const outcome = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]) }).then(
      ({ status }) => status,
      () => last,
    )
    if (outcome === 200) return
    last = String(outcome)
  }
  throw new StartRefused(`${name} did not answer at ${url} within ${seconds} seconds (last: ${last}).`)
}
