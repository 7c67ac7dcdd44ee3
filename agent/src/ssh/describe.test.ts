import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describeMachine, patternOf } from './describe.ts'
import { usualLayout } from './layout.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-describe-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a pattern stands for names as a shell would have it', () => {
  const names = ['nvidia0', 'nvidia12', 'nvidiactl', 'nvidia-uvm', 'xnvidia0']
  expect(names.filter((name) => patternOf('nvidia[0-9]*').test(name))).toEqual(['nvidia0', 'nvidia12'])
  expect(names.filter((name) => patternOf('nvidia?').test(name))).toEqual(['nvidia0'])
})

const is_possible = process.getuid?.() === 0 && existsSync('/usr/sbin/sshd')
test.skipIf(!is_possible)('SG-24 describe: GPUs by their numbers, what all share, and sshd as it says itself (needs sshd)', async () => {
  const [dev, key, config] = [join(folder, 'dev'), join(folder, 'host_key'), join(folder, 'sshd_config')]
  mkdirSync(dev)
  mkdirSync('/run/sshd', { recursive: true })
  // Numbers of /dev/null: what counts is that they are devices.
  for (const name of ['gpu0', 'gpu10', 'gpu2', 'gpuctl']) execFileSync('/usr/bin/mknod', [join(dev, name), 'c', '1', '3'])
  writeFileSync(join(dev, 'gpu7'), 'no device')
  execFileSync('/usr/bin/ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'root@gpu-001', '-f', key])
  writeFileSync(config, `Port 2222\nHostKey ${key}\n`)
  const devices = { own: [join(dev, 'gpu[0-9]*')], shared: [join(dev, 'gpuctl'), join(dev, 'absent')] }
  const layout = { ...usualLayout, devices, sshd: { ...usualLayout.sshd, config } }
  const line = readFileSync(`${key}.pub`, 'utf8').split(' ')
  expect(await describeMachine(layout)).toEqual({
    devices: [0, 2, 10].map((index) => ({ index, paths: [join(dev, `gpu${index}`)] })),
    shared_devices: [join(dev, 'gpuctl')],
    ssh_host: hostname(),
    ssh_port: 2222,
    ssh_host_keys: [`${line[0]} ${line[1]}`],
  })
  writeFileSync(config, `Port 2222\nListenAddress 192.0.2.7\nHostKey ${key}\n`)
  expect(await describeMachine(layout)).toMatchObject({ ssh_host: '192.0.2.7' })
  expect(await describeMachine({ ...layout, ssh_host: 'gpu-001.example' })).toMatchObject({ ssh_host: 'gpu-001.example' })
  writeFileSync(config, 'NoSuchThing yes\n')
  await expect(describeMachine(layout)).rejects.toMatchObject({
    failure: 'sshd_config_broken',
    cause: { message: expect.stringContaining('NoSuchThing') },
  })
})
