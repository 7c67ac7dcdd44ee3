import { expect, test, vi } from 'vitest'
import type { Database } from '#ground/db/database.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { lanePlaces } from './lanes.ts'
import { denialRecorder } from './record-denial.ts'

const org_id = '00000000-0000-4000-8000-000000000001'
const actor = { type: 'service_account', id: '00000000-0000-4000-8000-000000000002', credential_id: 'k' } as const
const by = { correlation_id: 'c', source_ip: '192.0.2.1' }
const refused = { actor, org_id, project_id: null, resource: { type: 'project', id: 'p' } }
const denial = { reason_code: 'token_invalid', why: 'wrong_secret', request: {} }

/** A recorder whose database fails so many times. */
const recorder = (failures: number) => {
  const told: string[] = []
  let [left, written] = [failures, 0]
  const database = {
    transaction: async (_mode: unknown, within: (tx: unknown) => Promise<unknown>) => {
      if (left > 0) {
        left -= 1
        throw new Problem('dependency_unavailable')
      }
      return within({ now: '2026-01-01T00:00:00.000Z' })
    },
  } as unknown as Database
  const append = async (...works: readonly unknown[]) => {
    written += works.length
  }
  const denials = denialRecorder({ database, append, onUnrecorded: (what) => told.push(what) }, lanePlaces({ connections: 10 }))
  return { denials, told, written: () => written }
}

test('TI-12 what is written aside is tried again, and told when it is late', async () => {
  const { denials, told, written } = recorder(2)
  denials.writeAside(by, refused, denial)
  await denials.settled()
  expect([told, written()]).toEqual([['late'], 1])
})

test('TI-12 who waits for the record hears that there is none', async () => {
  const { denials, told, written } = recorder(1)
  await expect(denials.write(by, refused, denial)).rejects.toMatchObject({ code: 'dependency_unavailable' })
  await denials.write(by, refused, denial)
  expect([told, written()]).toEqual([[], 1])
})

test('TI-12 what is under way when the server closes is written; what fails then is lost, and told', async () => {
  const good = recorder(0)
  for (let n = 0; n < 3; n += 1) good.denials.writeAside(by, refused, denial)
  await good.denials.close()
  expect([good.told, good.written()]).toEqual([[], 3])
  const broken = recorder(1_000_000)
  broken.denials.writeAside(by, refused, denial)
  await broken.denials.close()
  expect(broken.told).toEqual(['lost'])
})

test('TI-12 nor is anything tried for ever, and so many wait and no more', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] })
  try {
    const { denials, told } = recorder(Number.POSITIVE_INFINITY)
    for (let n = 0; n < 5001; n += 1) denials.writeAside(by, refused, denial)
    expect(told).toEqual(['lost'])
  } finally {
    vi.useRealTimers()
  }
})
