import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askRunning, hangDoorbell } from './doorbell.ts'

let folder: string
let lock: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'doorbell-'))
  lock = join(folder, 'machine.lock')
})
afterEach(() => rmSync(folder, { recursive: true }))

test('SG-10 of two agents that start on one state at the same moment one runs, and the other is told why not', async () => {
  const both = await Promise.allSettled([hangDoorbell(folder, lock, () => 'one'), hangDoorbell(folder, lock, () => 'other')])
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { message: 'an agent runs on this machine already; stop it first' },
  })
  expect(['one', 'other']).toContain(await askRunning(folder))
  for (const each of both) if (each.status === 'fulfilled') await each.value()
})

test('SG-10 who removes the socket does not make room for a second one; when the first is gone there is', async () => {
  const takeDown = await hangDoorbell(folder, lock, () => 'first')
  rmSync(join(folder, 'agent.sock'))
  await expect(hangDoorbell(folder, lock, () => 'second')).rejects.toThrow('already')
  await takeDown()
  const takeDownAgain = await hangDoorbell(folder, lock, () => 'third')
  expect(await askRunning(folder)).toBe('third')
  await takeDownAgain()
  expect(await askRunning(folder)).toBeUndefined()
})

test.each(['enrol', 'clear'])('SG-10 %s waits for no bell: it is told that an agent runs, by the lock', async (verb) => {
  const takeDown = await hangDoorbell(folder, lock, () => 'first')
  rmSync(join(folder, 'agent.sock'))
  const [config, token] = [join(folder, 'agent.json'), join(folder, 'token')]
  // Nothing of the machine's own is in reach of it.
  const places = {
    keys_dir: join(folder, 'keys'),
    sessions_dir: join(folder, 'sessions'),
    cgroup_dir: null,
    group: 'root',
    lock_file: lock,
  }
  writeFileSync(config, JSON.stringify({ state_dir: folder, layout: places }))
  writeFileSync(token, 'ghne_none')
  const args = ['agent/src/main.ts', verb, '--config', config, ...(verb === 'enrol' ? ['--token-file', token] : [])]
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([status, stderr]).toEqual([1, 'gatehouse-agent: an agent runs on this machine already; stop it first\n'])
  await takeDown()
})

test('SG-26 an agent on another state of the same machine does not start, and leaves that state to others', async () => {
  const other = join(folder, 'other')
  const takeDown = await hangDoorbell(folder, lock, () => 'first')
  await expect(hangDoorbell(other, lock, () => 'second')).rejects.toThrow('an agent runs on this machine already')
  await takeDown()
  const takeDownOther = await hangDoorbell(other, lock, () => 'second')
  expect(await askRunning(other)).toBe('second')
  await takeDownOther()
})

test.skipIf(process.getuid?.() !== 0)('SG-19 an agent that finds the disk full runs all the same, and alone', async () => {
  const disk = mkdtempSync('/var/lib/gatehouse-test-full-')
  execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'mode=0700,size=64k,nr_inodes=3', 'none', disk])
  try {
    await (await hangDoorbell(disk, undefined, () => 'first'))()
    for (const name of ['one', 'other']) writeFileSync(join(disk, name), '', { flag: 'a' })
  } catch {
    // Full.
  }
  try {
    const takeDown = await hangDoorbell(disk, undefined, () => 'second')
    expect(await askRunning(disk)).toBeUndefined()
    await expect(hangDoorbell(disk, undefined, () => 'third')).rejects.toThrow('an agent runs on this machine already')
    await takeDown()
  } finally {
    execFileSync('/usr/bin/umount', ['-l', disk])
    rmdirSync(disk)
  }
})
