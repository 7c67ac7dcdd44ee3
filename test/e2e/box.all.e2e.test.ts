import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { type Box, bootBox, hasOlderBounds } from '../box/box.ts'

describe.skipIf(!hasPart('systemd'))('the throw-away machine (needs systemd)', () => {
  let box: Box
  beforeAll(async () => {
    box = await bootBox()
  })
  afterAll(() => box?.stop())

  test('HO-02 box: systemd is its first process, no unit failed, GPUs reach no hardware (needs systemd)', async () => {
    expect(await box.sure('cat /proc/1/comm')).toBe('systemd')
    await expect.poll(() => box.shell('systemctl is-system-running')).toMatchObject({ out: 'running\n' })
    expect((await box.shell('exec 3< /dev/nvidia1')).err).toContain('No such device')
    // Red control: an open that the device filter of a unit refuses is told apart.
    const filtered = await box.shell(
      'systemd-run -q --pipe --wait -p DevicePolicy=closed -p DeviceAllow=/dev/nvidia0 bash -c "exec 3< /dev/nvidia1"',
    )
    expect(filtered.err).toContain('Operation not permitted')
  })

  test('HO-02 box: files written inside → kept over a power cut, absent on this machine (needs systemd)', async () => {
    await box.sure('echo here > /etc/written-in-the-box')
    await box.powerCycle()
    expect(await box.sure('cat /etc/written-in-the-box')).toBe('here')
    expect(existsSync('/etc/written-in-the-box')).toBe(false)
  })

  test('HO-02 box: its test is killed → processes, cgroups and files go (needs systemd)', async () => {
    const program = fileURLToPath(new URL('../box/abandoned.ts', import.meta.url))
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
    const { folder, group, first } = await new Promise<{ folder: string; group: string; first: number }>((resolve) => {
      child.stdout.once('data', (bytes) => resolve(JSON.parse(String(bytes))))
    })
    expect([folder, group, `/proc/${first}`].map((path) => existsSync(path))).toEqual([true, true, true])
    child.kill('SIGKILL')
    await expect.poll(() => [folder, group, `/proc/${first}`].filter((path) => existsSync(path))).toEqual([])
    // The other one is not touched by that.
    expect(await box.sure('systemctl is-active ssh')).toBe('active')
  })

  // On such a machine cgroup2 has no controllers for it, and a bound that is written down is kept by nobody.
  test.skipIf(!hasOlderBounds())('HO-02 box: the older hierarchies beside cgroup2 → bounds of units are kept (needs systemd)', async () => {
    const hybrid = await bootBox({ is_hybrid: true })
    const forks = 'for i in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait'
    const hold = 'node -e "for (const all = []; all.length < 300; ) all.push(Buffer.alloc(1e6, 1))"'
    const under = (bound: string, text: string) => hybrid.shell(`systemd-run -q --pipe --wait -p ${bound} bash -c '${text}'`)
    try {
      expect((await under('TasksMax=5', forks)).err).toContain('Resource temporarily unavailable')
      expect((await under('MemoryMax=50M', hold)).code).not.toBe(0)
      // Red controls: wider bounds let the same through.
      expect(await under('TasksMax=50', forks)).toMatchObject({ code: 0, err: '' })
      expect(await under('MemoryMax=900M', hold)).toMatchObject({ code: 0 })
    } finally {
      await hybrid.stop()
    }
    expect(existsSync(hybrid.folder)).toBe(false)
  })
})
