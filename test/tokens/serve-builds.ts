// Servers of several builds, one after the other, in a process of its own. It ends with the one that started it.
import type { Settings } from '../faults/server-process.ts'
import type { Change } from './faults.ts'
import { composeOf } from './load-builds.ts'

export interface Order {
  readonly settings: Settings
  readonly changes: readonly Change[]
}
export type Report = { readonly port: number } | { readonly failed: string }

let close: (() => Promise<void>) | undefined

const serve = async ({ settings, changes }: Order): Promise<Report> => {
  await close?.()
  close = undefined
  const server = await (await composeOf(changes))(settings, () => undefined)
  close = server.close
  return { port: await server.listen() }
}

process.on('disconnect', () => process.exit(0))
process.on('message', (order: Order) => {
  serve(order)
    .catch((error: Error): Report => ({ failed: String(error.stack) }))
    .then((report) => process.send?.(report))
})
