import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { littleAuthority } from '../../test/agent/little-authority.ts'
import { memoryState } from '../../test/agent/memory-state.ts'
import { paperHands } from '../../test/agent/paper-hands.ts'
import { startAgent } from './agent.ts'
import type { Answer, Showing } from './door.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-next-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const refused = { code: 'insufficient_permissions', details: { reason_code: 'membership_missing' } }
const answered = (status: number, body: unknown): Answer => ({ status, body, retry_after_seconds: undefined })

test('SG-22 a certificate that came before a crash is taken up when the door is there again, though the former one has ended', async () => {
  const { identityOf } = await littleAuthority()
  const former = await identityOf('00000000-0000-7000-8000-0000000000aa')
  const next = await identityOf(former.node_id)
  const state = memoryState(former)
  await state.keepIdentity('next', next)
  let tries = 0
  const open = ({ certificate }: Showing) => ({
    ask: async () => {
      if (certificate !== next.certificate) return answered(403, refused)
      tries += 1
      // The network comes up a little later than the agent.
      if (tries === 1) throw new Error('unreachable')
      return answered(200, { tasks: [], signers: [], renew_after: next.renew_after })
    },
    close: () => {},
  })
  const times = { wait_seconds: 1, longest_pause_ms: 50, refused_pause_ms: 50 }
  const agent = await startAgent({ state, makeHands: paperHands(folder), log: () => {}, open, times })
  try {
    await expect.poll(() => agent.status().server.state).toBe('connected')
    expect([await state.identity('current'), await state.identity('next')]).toEqual([next, undefined])
  } finally {
    await agent.stop()
  }
})
