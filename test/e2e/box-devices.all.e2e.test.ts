import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { boxFixture } from '../box/place.ts'
import { logIn } from '../ssh/client.ts'
import type { RegisteredPair } from '../ssh/node-place.ts'

const provider = '/usr/lib/openssh/regress/misc/sk-dummy/sk-dummy.so'

describe.skipIf(!hasPart('systemd'))('devices and security keys of an allocation (needs systemd)', () => {
  const story = boxFixture()
  let owner: RegisteredPair
  beforeAll(async () => {
    const { place, node } = story()
    owner = await place.pair('asha')
    // An allocation that is placed before the node has said what it has is not kept from anything.
    const isDescribed = async () => (await place.done(200, 'ada', 'GET', `/api/v1/admin/nodes/${node.id}`)).described_at !== null
    await place.until('described', isDescribed)
  })
  /** No hardware is behind them: ENXIO where the filter lets an open through, EPERM where it does not. */
  const opens = async (username: string, device: string) => {
    const { said } = await logIn(
      story().box,
      username,
      owner,
      `(exec 3< ${device}) 2>&1 | grep -oE "No such device|Operation not permitted"`,
    )
    return { 'No such device': 'let through', 'Operation not permitted': 'refused' }[said]
  }

  test('SG-24 devices: two allocations of one node → each opens its own GPUs and no other’s, also after a power cut (needs systemd)', async () => {
    const { place, node, box } = story()
    const two = [await place.allocation('asha', node.sku, [owner]), await place.allocation('asha', node.sku, [owner])]
    const indexes = await Promise.all(two.map(async ({ id }) => (await place.allocationOf(id)).device_indexes as number[]))
    expect(new Set(indexes.flat()).size).toBe(2)
    const judge = async () => {
      for (const at of [0, 1]) {
        const { username } = two[at]!
        expect(await opens(username, `/dev/nvidia${indexes[at]![0]}`)).toBe('let through')
        expect(await opens(username, `/dev/nvidia${indexes[1 - at]![0]}`)).toBe('refused')
        expect(await opens(username, '/dev/nvidia63')).toBe('refused')
        expect(await opens(username, '/dev/nvidiactl')).toBe('let through')
      }
    }
    await judge()
    // Also where the agent is down, and after a boot at which it has not come.
    await box.sure('systemctl stop gatehouse-agent; systemctl disable gatehouse-agent')
    await judge()
    await box.powerCycle()
    await judge()
    await box.sure('systemctl enable --now gatehouse-agent')
    await node.connected()
    // Red control: without the filter of the account's unit a foreign one is let through.
    await box.sure(`systemctl set-property --runtime gatehouse-account@${two[0]!.username}.service DevicePolicy=auto DeviceAllow=`)
    expect(await opens(two[0]!.username, '/dev/nvidia63')).toBe('let through')
  })

  test('SG-24 node: its agent has told devices, address and host keys → people are shown them, and ssh believes them (needs systemd)', async () => {
    const { place, node, box } = story()
    const { id, username } = await place.allocation('asha', node.sku, [owner])
    const { ssh } = await place.done(200, 'asha', 'GET', `/api/v1/allocations/${id}`)
    expect(ssh).toMatchObject({ host_keys: [expect.stringMatching(/^ssh-ed25519 /)] })
    const known = join(box.folder, 'known-hosts')
    execFileSync('bash', ['-c', 'printf "[127.0.0.1]:%s %s\\n" "$1" "$2" > "$3"', '-', `${box.port}`, ssh.host_keys[0], known])
    const strict = ['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${known}`]
    // The options given first are the ones that ssh goes by.
    const said = execFileSync(
      '/usr/bin/ssh',
      ['-F', 'none', ...strict, '-p', `${box.port}`, '-i', owner.file, '-o', 'IdentitiesOnly=yes', `${username}@127.0.0.1`, 'echo in'],
      { encoding: 'utf8' },
    )
    expect(said).toBe('in\n')
  })

  test('SG-27 security keys: policy demands them with verification → sshd takes a verified signature and no other, plain keys are withheld (needs systemd)', async () => {
    const { place, node, box, world } = story()
    const kept = async (name: string, more: readonly string[]) => {
      const file = join(box.folder, name)
      execFileSync('/usr/bin/ssh-keygen', ['-q', '-t', 'ed25519-sk', '-w', provider, '-N', '', '-f', file, ...more])
      const line = readFileSync(`${file}.pub`, 'utf8').trim()
      const { id } = await place.done(201, 'asha', 'POST', '/api/v1/ssh-keys', { body: { name, public_key: line } })
      return { ...owner, file, line, id: id as string }
    }
    const [verifying, touching] = [await kept('verifying', ['-O', 'verify-required']), await kept('touching', [])]
    const enter = (username: string, pair: RegisteredPair) =>
      logIn(box, username, pair, 'echo in', ['-o', `SecurityKeyProvider=${provider}`])
    // Red control: without the policy a signature without verification is enough.
    const before = await place.allocation('asha', node.sku, [verifying, touching, owner])
    for (const pair of [verifying, touching, owner]) expect((await enter(before.username, pair)).said).toBe('in')
    await world.sql(
      `update policy_values set value = '"security_key_verified"' where key = 'access.required_key_kinds' and replaced_at is null`,
    )
    const after = await place.allocation('asha', node.sku, [verifying, touching])
    expect(await box.sure(`cat /etc/gatehouse-agent/keys/${after.username}`)).toMatch(/^verify-required.* sk-ssh-ed25519@openssh.com /m)
    expect((await enter(after.username, verifying)).said).toBe('in')
    expect((await enter(after.username, touching)).code).toBe(255)
    const body = { project_id: (await place.allocationOf(after.id)).project_id, name: 'work', region: 'eu-1', sku: node.sku, gpus: 1 }
    const refused = await place.call('asha', 'POST', '/api/v1/allocations', { body: { ...body, ssh_key_ids: [owner.id] } })
    expect([refused.status, refused.body.code]).toEqual([409, 'ssh_key_kind_not_allowed'])
  })
})
