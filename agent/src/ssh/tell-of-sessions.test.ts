import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Happening } from '../hands.ts'
import { endSessions } from './end-sessions.ts'
import { usualLayout } from './layout.ts'
import { startOf } from './processes.ts'
import { sessionReader } from './sessions.ts'
import { newRemembered, tellOfEnded, tellOfSessions } from './tell-of-sessions.ts'
import { openWatch } from './watch.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sessions-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const layout = { ...usualLayout, sessions_dir: folder }
const watch = openWatch(layout)
const readSessions = async () => [...(await sessionReader(layout)()).values()].flat()
const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
const of = { allocation_id: '0197c9d0-0000-7000-8000-000000000001', generation: 3 }

// The clock stands still, so that it is known how long ago something was.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** A session as the hook writes it down, seen for the last time so long ago. */
const written = (session_id: string, seen_seconds_ago: number): string => {
  const path = join(folder, session_id)
  const started_at = new Date(Date.now() - 3_600_000).toISOString()
  writeFileSync(path, ['gh-aaaaaa', 'ssh-ed25519', 'AAAA', '192.0.2.7', 'none', started_at, ''].join('\n'))
  const seen = new Date(Date.now() - seen_seconds_ago * 1000)
  utimesSync(path, seen, seen)
  return path
}
/** The ends that are told of, and how many seconds ago they are said to have been. */
const look = async () => {
  const told: Happening[] = []
  const tell = async (happening: Happening) => void told.push(happening)
  await tellOfSessions({ layout, watch, remembered: newRemembered(), of, tell }, undefined, await readSessions())
  const ends = told.filter(({ kind }) => kind === 'session_ended')
  return ends.map(({ end, at }) => [end, Math.round((Date.now() - Date.parse(at)) / 1000)])
}

test('SG-21 a session that was open a moment ago was closed; of one that is found gone it is said when it was last seen', async () => {
  written(`4194400.1.${boot}`, 4)
  expect(await look()).toEqual([['closed', 0]])
  // Nobody looked for a quarter of an hour, and it went meanwhile.
  const path = written(`4194401.1.${boot}`, 900)
  expect(await look()).toEqual([['lost', 900]])
  expect(existsSync(path)).toBe(false)
  // With the system, in an earlier run of it.
  written('4194402.1.0badb007', 5)
  expect(await look()).toEqual([['lost', 5]])
})

test('SG-19 SG-21 what a session had left running when its connection was closed, and is ended with its key, is told of as well', async () => {
  const path = written(`4194403.1.${boot}`, 4)
  const [session] = await readSessions()
  const told: Happening[] = []
  const telling = { layout, watch, remembered: newRemembered(), of, tell: async (happening: Happening) => void told.push(happening) }
  // Something of the account still runs, so that it stays known.
  await tellOfSessions(telling, process.getuid!(), [session!])
  expect([told.at(-1)!.end, existsSync(path)]).toEqual(['closed', true])
  const { session_id, fingerprint } = session!
  await tellOfEnded(
    telling,
    [session!],
    [{ session_id, fingerprint, processes_ended: 2, may_have_left_processes: false }],
    () => 'key_removed',
  )
  expect(told.at(-1)).toMatchObject({ kind: 'session_ended', end: 'key_removed', session_id, processes_ended: 2 })
  expect(existsSync(path)).toBe(false)
})

test('SG-19 whoever died amid the ending of a session is followed by one who knows that it was ended', async () => {
  const path = written(`4194404.1.${boot}`, 4)
  const [session] = await readSessions()
  const account = { username: 'gh-aaaaaa', uid: 2_000_000_001 }
  expect(await endSessions(layout, watch, account, [session!])).toEqual([])
  writeFileSync(`${path}.told-ending`, '')
  expect(await endSessions(layout, watch, account, [session!])).toMatchObject([{ session_id: session!.session_id, processes_ended: 0 }])
  rmSync(path)
})

test('SG-19 a task that waits does not wait until all is told: the rest is told at the next look', async () => {
  for (const n of [5, 6, 7]) written(`419440${n}.1.${boot}`, 4)
  const told: Happening[] = []
  const telling = { layout, watch, remembered: newRemembered(), of, tell: async (happening: Happening) => void told.push(happening) }
  await tellOfSessions({ ...telling, isPressed: () => told.length > 0 }, undefined, await readSessions())
  expect(told.map(({ kind }) => kind)).toEqual(['session_started', 'session_ended'])
  await tellOfSessions(telling, undefined, await readSessions())
  expect(told).toHaveLength(6)
})

test('SG-21 a session that is open is seen at each look', async () => {
  const started = startOf(process.pid)!
  const path = written(`${process.pid}.${started}.${boot}`, 900)
  expect(await look()).toEqual([])
  expect(Math.abs(Date.now() - statSync(path).mtimeMs)).toBeLessThan(60_000)
})
