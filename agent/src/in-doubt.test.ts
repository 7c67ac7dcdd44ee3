import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { littleAuthority } from '../../test/agent/little-authority.ts'
import { memoryState } from '../../test/agent/memory-state.ts'
import { paperHands, readAccount } from '../../test/agent/paper-hands.ts'
import { startAgent } from './agent.ts'
import { writeAtomically } from './atomic-file.ts'
import type { AllocationState } from './state.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-doubt-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** One with a key, as it was put in force before the machine enrolled anew, or not. */
const allocationOf = async (letter: string, in_doubt: boolean): Promise<AllocationState> => {
  const of = { allocation_id: `00000000-0000-7000-8000-0000000000${letter}${letter}`, username: `gh-${letter.repeat(6)}` }
  await writeAtomically(join(folder, `${of.username}.json`), JSON.stringify({ allocation_id: of.allocation_id, keys: ['his'] }))
  const params = { ...of, keys: [{ fingerprint: 'his' }], set_hash: '' }
  const applied = {
    type: 'allocation.install_authorized_keys',
    generation: 2,
    params,
    task_id: '',
    at: '2026-01-01T00:00:00.000Z',
  } as const
  return { ...of, begun: 2, applied, drift_found_at: null, ...(in_doubt ? { in_doubt: 'open' as const } : {}) }
}

test('J10 SG-23 what nobody asks for after the machine has enrolled anew lets nobody in, and is said to be so; the rest stays', async () => {
  const { identityOf } = await littleAuthority()
  const identity = await identityOf('00000000-0000-7000-8000-0000000000aa')
  const state = memoryState(identity)
  const [asked, forgotten] = [await allocationOf('b', false), await allocationOf('c', true)]
  for (const each of [asked, forgotten]) await state.keepAllocation(each)
  let answers = 0
  // One answer that asks for nothing is not enough; the next comes when the test lets it.
  const { promise: may_answer, resolve: answerNow } = Promise.withResolvers<void>()
  const open = () => ({
    ask: async () => {
      if (answers > 0) await may_answer
      answers += 1
      return { status: 200, body: { tasks: [], signers: [], renew_after: identity.renew_after }, retry_after_seconds: undefined }
    },
    close: () => {},
  })
  const times = { wait_seconds: 1, drift_ms: 20 }
  const looked = vi.fn()
  const makeHands = paperHands(folder, (hands) => ({ ...hands, drift: (...asked) => hands.drift(...asked).finally(looked) }))
  const agent = await startAgent({ state, makeHands, log: () => {}, open, times })
  const keysOf = async ({ username }: AllocationState) => (await readAccount(folder, username))?.keys
  try {
    // Not before the control plane has had time to ask.
    await expect.poll(() => looked.mock.calls.length).toBeGreaterThan(3)
    expect(await keysOf(forgotten)).toEqual(['his'])
    answerNow()
    await expect.poll(() => keysOf(forgotten)).toEqual([])
    expect(answers).toBeGreaterThan(1)
    expect(await keysOf(asked)).toEqual(['his'])
    expect(agent.status().allocations.map(({ trouble }) => trouble)).toEqual([null, 'not_asked_for'])
  } finally {
    answerNow()
    await agent.stop()
  }
  // The next one finds it so before it has heard anything.
  const unreachable = () => ({ ask: () => Promise.reject(new Error('unreachable')), close: () => {} })
  looked.mockClear()
  const next = await startAgent({ state, makeHands, log: () => {}, open: unreachable, times })
  try {
    await expect.poll(() => looked.mock.calls.length).toBeGreaterThan(3)
    expect([await keysOf(forgotten), await keysOf(asked)]).toEqual([[], ['his']])
  } finally {
    await next.stop()
  }
})
