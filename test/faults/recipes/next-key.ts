import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from './recipe.ts'

/** There is one next key, of those that sign tokens or of those that sign tasks; when it is taken, another comes soon. */
export const nextKey = async (stage: Stage, noun: 'signing_key' | 'node.signer'): Promise<string> => {
  for (let tries = 0; ; tries += 1) {
    const { items } = (await stage.done(`${noun}.list`, { person: 'ada', params: {}, body: {} })) as unknown as {
      items: { kid: string; state: string }[]
    }
    const staged = items.find(({ state }) => state === 'staged')
    if (staged) return staged.kid
    if (tries === 100) throw new Error(`no next ${noun} came`)
    // Whoever took the last one may be dead, and would have looked after the next within a minute; being asked, a server does it at once.
    if (tries % 20 === 1) await stage.done(`${noun}.rotate`, { person: 'ada', params: {}, body: { reason: stage.word() } }).catch(() => {})
    await sleep(50)
  }
}
