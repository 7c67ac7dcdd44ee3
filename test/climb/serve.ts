// A server in a process of its own. It ends with the one that started it.
import { flushCompileCache } from 'node:module'
import { composeServer } from '../faults/compose.ts'
import type { Settings } from '../faults/server-process.ts'

process.on('disconnect', () => process.exit(0))
process.once('message', (settings: Settings) => {
  composeServer(settings, () => undefined)
    .then(({ listen }) => listen())
    .then((port) => {
      flushCompileCache()
      process.send?.({ port })
    })
    .catch((error: Error) => {
      console.error(error)
      process.exit(1)
    })
})
