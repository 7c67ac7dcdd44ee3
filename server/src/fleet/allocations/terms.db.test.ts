import { listAccessGrants } from '@gatehouse/contract/access-grants'
import {
  removeOrganizationPolicyValue,
  setOrganizationPolicyValue,
  setPlatformPolicyValue,
  setProjectPolicyValue,
} from '@gatehouse/contract/policies'
import { afterEach, describe, expect, test } from 'vitest'
import { keyOf } from '../../../../test/access-stage.ts'
import { type Scene, sceneOn } from '../../../../test/allocation-scene.ts'
import { tendNow } from '../../../../test/allocation-tending.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { newKeyLine } from '../../../../test/ssh-key-lines.ts'

const live = serverFixture()
const { org, project, user } = seeded
const install = 'allocation.install_authorized_keys'
const security = 'sk-ssh-ed25519@openssh.com'

/** A scene whose node speaks this version. */
const speaking = async (protocol: number): Promise<Scene> => {
  const scene = await sceneOn(live)
  scene.node.speak(protocol)
  await scene.node.settle()
  return scene
}
const setInOrg = (key: string, value: unknown) =>
  live.ask('alice', setOrganizationPolicyValue, { params: { org_id: org.aurora, key }, body: { value } })
const endInOrg = (key: string) => live.ask('alice', removeOrganizationPolicyValue, { params: { org_id: org.aurora, key }, body: {} })
const boundsOf = ({ node }: Scene, id: string) => node.lastTask(install, id)?.params.bounds
const verifiedOn = ({ node }: Scene, id: string) =>
  (node.lastTask(install, id)!.params.keys as { verify_required?: boolean }[]).map((key) => key.verify_required ?? false)
const grantOn = async (id: string) => (await live.ask('amara', listAccessGrants, { params: { allocation_id: id as never } })).body.items[0]!
const usual = { sessions_max: 64, tasks_max: 4096, memory_max_bytes: null }
const recorded = (id: string) =>
  live.sql<{ severity: string; metadata: Record<string, unknown> }>(
    `select severity, metadata from audit_logs where action = 'allocation.terms.send' and resource_id = $1 order by seq`,
    [id],
  )

afterEach(async () => {
  await live.sql(
    `update policy_values set replaced_at = now() where key like 'access.%' and scope_type <> 'global' and replaced_at is null`,
  )
})

describe('what sessions may take up', () => {
  test('SG-28 policies of platform, organization and project → the strictest are told with account and keys', async () => {
    const scene = await speaking(2)
    const id = await scene.active()
    expect(boundsOf(scene, id)).toEqual(usual)
    expect(scene.node.lastTask('allocation.provision_user', id)?.params.bounds).toEqual(usual)
    await setInOrg('access.max_sessions_per_allocation', 10)
    await setInOrg('access.session_memory_max_bytes', 2 ** 30)
    const inProject = { params: { project_id: project.aurora, key: 'access.session_tasks_max' }, body: { value: 500 } }
    await live.ask('alice', setProjectPolicyValue, inProject)
    const later = await scene.active()
    expect(boundsOf(scene, later)).toEqual({ sessions_max: 10, tasks_max: 500, memory_max_bytes: 2 ** 30 })
  })

  test('SG-28 policy.value.set: a bound of what is active → pending at once, then sent anew, recorded and applied; ended → as before', async () => {
    const scene = await speaking(2)
    const id = await scene.active()
    const before = (await scene.read(id)).runtime_sync
    expect(before.status).toBe('applied')
    await setInOrg('access.max_sessions_per_allocation', 3)
    expect((await scene.read(id)).runtime_sync).toMatchObject({ status: 'pending', generation: before.generation })
    await Promise.all([tendNow(live), tendNow(live)])
    await scene.node.settle()
    const after = (await scene.read(id)).runtime_sync
    expect(after).toMatchObject({ status: 'applied', generation: before.generation! + 1 })
    expect(boundsOf(scene, id)).toEqual({ ...usual, sessions_max: 3 })
    expect(await recorded(id)).toMatchObject([{ severity: 'info', metadata: { bounds: { ...usual, sessions_max: 3 } } }])
    await endInOrg('access.max_sessions_per_allocation')
    await tendNow(live)
    await scene.node.settle()
    expect(boundsOf(scene, id)).toEqual(usual)
  })

  test('SG-28 policy.value.set: another key, another organization, another project → nothing is due', async () => {
    const scene = await speaking(2)
    const id = await scene.active()
    const { runtime_sync } = await scene.read(id)
    await setInOrg('tenancy.invitation_ttl_seconds', 7200)
    await live.ask('ada', setOrganizationPolicyValue, {
      params: { org_id: org.borealis, key: 'access.session_tasks_max' },
      body: { value: 100, reason: 'theirs' },
    })
    expect((await scene.read(id)).runtime_sync).toEqual(runtime_sync)
    await tendNow(live)
    expect(await recorded(id)).toEqual([])
  })

  test('SG-28 policy.value.set of the platform → reaches every organization', async () => {
    const scene = await speaking(2)
    const asked = await scene.ask({ project_id: project.borealis }, 'birgit')
    const ids = [await scene.active(), asked.body.id]
    const key = 'access.session_tasks_max'
    const set = (value: number) => live.ask('ada', setPlatformPolicyValue, { params: { key }, body: { value, reason: 'test' } })
    expect((await set(1000)).status).toBe(200)
    await tendNow(live)
    await scene.node.settle()
    expect(ids.map((id) => boundsOf(scene, id))).toEqual([
      { ...usual, tasks_max: 1000 },
      { ...usual, tasks_max: 1000 },
    ])
    await set(4096)
    await tendNow(live)
    await scene.node.settle()
  })

  test('SG-28 two at once: a set is sent while the policy changes → the node ends with the new bounds, whoever was first', async () => {
    const scene = await speaking(2)
    const id = await scene.active()
    for (const sessions_max of [9, 8, 7, 6]) {
      await Promise.all([
        setInOrg('access.max_sessions_per_allocation', sessions_max),
        scene.setKeys(id, []),
        tendNow(live),
        scene.setKeys(id, []),
      ])
      await tendNow(live)
      await scene.node.settle()
      expect(boundsOf(scene, id)).toEqual({ ...usual, sessions_max })
      expect((await scene.read(id)).runtime_sync.status).toBe('applied')
    }
  })

  test('SG-28 a node of version 1 → is told no bounds', async () => {
    const scene = await speaking(1)
    const id = await scene.active()
    await setInOrg('access.max_sessions_per_allocation', 3)
    await tendNow(live)
    await scene.node.settle()
    expect(scene.node.refused).toEqual([])
    expect(boundsOf(scene, id)).toBeUndefined()
    expect((await scene.read(id)).runtime_sync.status).toBe('applied')
  })

  test('SG-28 a narrower scope that would allow more → 400 policy_out_of_bounds', async () => {
    const told = await setInOrg('access.max_sessions_per_allocation', 65)
    expect([told.status, told.body.code]).toEqual([400, 'policy_out_of_bounds'])
    expect((await setInOrg('access.session_memory_max_bytes', 2 ** 20)).status).toBe(400)
    expect((await setInOrg('access.required_key_kinds', 'security_key')).status).toBe(200)
    const looser = { params: { project_id: project.aurora, key: 'access.required_key_kinds' }, body: { value: 'any' } }
    expect((await live.ask('alice', setProjectPolicyValue, looser)).body).toMatchObject({
      code: 'policy_out_of_bounds',
      details: { detail: 'tighten_upper', limit: 'security_key', limit_scope: 'tenant' },
    })
  })
})

describe('which kinds of keys open something', () => {
  const kinds = 'access.required_key_kinds'

  test('SG-27 create, replace and grant: policy asks for security keys → others are refused by name, security keys are taken', async () => {
    const scene = await speaking(2)
    const plain = await keyOf(live, 'asha')
    const secure = await keyOf(live, 'asha', newKeyLine(security))
    const theirs = { plain: await keyOf(live, 'aldo'), secure: await keyOf(live, 'aldo', newKeyLine(security)) }
    await setInOrg(kinds, 'security_key')
    const refusal = {
      code: 'ssh_key_kind_not_allowed',
      details: { policy: kinds, limit: 'security_key', value: 'ssh-ed25519' },
    }
    const asked = await scene.ask({ ssh_key_ids: [plain.id] })
    expect([asked.status, asked.body]).toMatchObject([409, refusal])
    const id = await scene.active({ ssh_key_ids: [secure.id] })
    expect((await scene.setKeys(id, [plain.id])).body).toMatchObject(refusal)
    expect((await scene.grant(id, user('aldo'), theirs.plain.id)).body).toMatchObject(refusal)
    expect((await scene.grant(id, user('aldo'), theirs.secure.id)).status).toBe(201)
    await scene.node.settle()
    expect(scene.keysOn(id).sort()).toEqual([secure.fingerprint, theirs.secure.fingerprint].sort())
    expect(verifiedOn(scene, id)).toEqual([false, false])
  })

  test('SG-27 policy is tightened → keys of other kinds leave the set, told by grant, allocation and record; loosened → they are back', async () => {
    const scene = await speaking(2)
    const [own, theirs] = [await keyOf(live, 'asha'), await keyOf(live, 'aldo')]
    const id = await scene.active({ ssh_key_ids: [own.id] })
    await scene.grant(id, user('aldo'), theirs.id)
    await scene.node.settle()
    expect(scene.keysOn(id)).toHaveLength(2)
    await setInOrg(kinds, 'security_key')
    // Nothing says that the keys are gone before the node does.
    expect(await grantOn(id)).toMatchObject({ state: 'active', withheld: 'key_kind_not_allowed', runtime_sync: { status: 'pending' } })
    await tendNow(live)
    expect(await grantOn(id)).toMatchObject({ withheld: 'key_kind_not_allowed', runtime_sync: { status: 'pending' } })
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([])
    expect(await grantOn(id)).toMatchObject({ state: 'active', withheld: 'key_kind_not_allowed', runtime_sync: { status: 'applied' } })
    expect((await scene.read(id)).withheld_ssh_key_ids).toEqual([own.id])
    const [row] = await recorded(id)
    expect(row).toMatchObject({ severity: 'warning', metadata: { required_key_kinds: 'security_key' } })
    expect((row!.metadata.withheld_fingerprints as string[]).toSorted()).toEqual([own.fingerprint, theirs.fingerprint].sort())
    await endInOrg(kinds)
    await tendNow(live)
    await scene.node.settle()
    expect(scene.keysOn(id)).toHaveLength(2)
    expect(await grantOn(id)).toMatchObject({ withheld: null, runtime_sync: { status: 'applied' } })
    expect((await scene.read(id)).withheld_ssh_key_ids).toEqual([])
  })

  test('SG-27 policy asks for verification → every key of the set says so, and its hash is another', async () => {
    const scene = await speaking(2)
    const secure = await keyOf(live, 'asha', newKeyLine(security))
    const id = await scene.active({ ssh_key_ids: [secure.id] })
    const hash = () => scene.node.lastTask(install, id)?.params.set_hash
    const before = hash()
    await setInOrg(kinds, 'security_key_verified')
    await tendNow(live)
    await scene.node.settle()
    expect(verifiedOn(scene, id)).toEqual([true])
    expect(hash()).not.toBe(before)
  })

  test('SG-27 policy asks for verification, node of version 1 → nobody enters, and all of them say why', async () => {
    const scene = await speaking(1)
    const secure = await keyOf(live, 'asha', newKeyLine(security))
    const theirs = await keyOf(live, 'aldo', newKeyLine(security))
    const id = await scene.active({ ssh_key_ids: [secure.id] })
    await setInOrg(kinds, 'security_key_verified')
    expect((await scene.grant(id, user('aldo'), theirs.id)).body).toMatchObject({ withheld: 'key_kind_not_allowed' })
    await tendNow(live)
    await scene.node.settle()
    expect([scene.keysOn(id), scene.node.refused]).toEqual([[], []])
    expect((await scene.read(id)).withheld_ssh_key_ids).toEqual([secure.id])
    // An agent that understands it comes in its place.
    scene.node.speak(2)
    await scene.node.settle()
    expect(scene.keysOn(id).sort()).toEqual([secure.fingerprint, theirs.fingerprint].sort())
    expect(verifiedOn(scene, id)).toEqual([true, true])
  })
})

describe('what an account leaves beyond its sessions', () => {
  test('SG-24 node.task.report: leftovers in the signed receipt → recorded; high where one was not ended', async () => {
    const cron = { kind: 'cron', count: 2, is_ended: true } as const
    const unit = { kind: 'user_unit', name: 'miner.service', is_ended: false } as const
    const scene = await sceneOn(live, 8, {
      leftovers: ({ type }) => (type === install ? [cron] : type === 'allocation.deprovision_user' ? [cron, unit] : []),
    })
    const id = await scene.active()
    await scene.release(id)
    await scene.node.settle()
    const rows = await live.sql(
      `select severity, metadata from audit_logs where action = 'allocation.leftovers' and resource_id = $1 order by seq`,
      [id],
    )
    expect(rows).toMatchObject([
      { severity: 'info', metadata: { kinds: ['cron'], leftovers: [cron] } },
      { severity: 'high', metadata: { kinds: ['cron', 'user_unit'], leftovers: [cron, unit] } },
    ])
  })
})
