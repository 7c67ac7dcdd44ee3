import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from './child.ts'
import { watchFolders } from './watch-folders.ts'

// An editor or a checkout writes several files, or one file several times.
const settleMilliseconds = 150

type Restarting = {
  project: string
  folders: readonly string[]
  start: () => Child
  /** Settles when the child serves; rejects when it does not in time, or is ending. */
  ready: (ending: AbortSignal) => Promise<unknown>
  drainSeconds: number
  /** Called each time the child serves; true the first time. */
  onUp: (isFirst: boolean) => void
  say: (line: string) => void
  signal: AbortSignal
}

/** The first file that changed since it was last asked, once no more changes follow. */
const changesIn = (folders: readonly string[], signal: AbortSignal) => {
  let first: string | undefined
  let last = 0
  let wake = () => {}
  const { stop } = watchFolders(folders, (file) => {
    first ??= file
    last = Date.now()
    wake()
  })
  signal.addEventListener('abort', () => {
    stop()
    wake()
  })
  return async (): Promise<string | undefined> => {
    while (first === undefined && !signal.aborted)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    while (Date.now() - last < settleMilliseconds && !signal.aborted) await sleep(settleMilliseconds / 3)
    const file = first
    first = undefined
    return file
  }
}

/**
 * Runs a child and starts it anew when a file changes. A child that ends by itself, or does not come up, is reported; the next change
 * starts another. Settles when the signal aborts and the child is gone.
 */
export const restartOnChange = async ({ project, folders, start, ready, drainSeconds, onUp, say, signal }: Restarting): Promise<void> => {
  const nextChange = changesIn(folders, signal)
  let isFirst = true
  while (!signal.aborted) {
    const child = start()
    const ending = new AbortController()
    const up = ready(ending.signal).then(
      () => {
        onUp(isFirst)
        isFirst = false
      },
      (error: Error) => {
        if (!ending.signal.aborted) say(`${error.message} Waiting for the next change.`)
      },
    )
    void child.gone.then((how) => {
      if (ending.signal.aborted) return
      ending.abort()
      say(`the ${child.name} ${how}; waiting for the next change. Its last words:\n${child.lastWords()}`)
    })
    const file = await nextChange()
    if (file !== undefined) say(`restarting: ${relative(project, file)} changed`)
    ending.abort()
    await child.end(drainSeconds)
    await up
  }
}
