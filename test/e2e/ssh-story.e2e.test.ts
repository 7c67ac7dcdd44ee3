import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findAccount } from '../../agent/src/ssh/account.ts'
import { allProcesses } from '../../agent/src/ssh/processes.ts'
import { hasPart } from '../../tools/test/parts.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { seeded } from '../live-server.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { type LiveSession, logIn, stayIn } from '../ssh/client.ts'
import { type NodePlace, nodePlace, type RegisteredPair } from '../ssh/node-place.ts'

type Machine = Awaited<ReturnType<NodePlace['node']>>

/** One story, told in order; each part begins where the one before it ended. Two nodes, and the same people on both. */
describe.skipIf(!hasPart('sshd'))('people on real nodes (needs sshd)', () => {
  let clone: ClonedDatabase
  let world: FaultWorld
  let place: NodePlace
  const nodes: Machine[] = []
  const allocations: { id: string; username: string }[] = []
  const keys: Record<string, RegisteredPair> = {}
  const [grants, sessions]: [Record<string, string>[], Record<string, LiveSession>[]] = [[], []]
  beforeAll(async () => {
    clone = await cloneDatabase()
    world = await faultWorld(clone, { people: 0 })
    place = await nodePlace(world)
  })
  afterAll(async () => {
    await place.stop()
    await world.stop()
    await clone.drop()
  })

  const both = [0, 1] as const
  const enter = (at: number, person: string) => logIn(nodes[at]!.sshd, allocations[at]!.username, keys[person]!)
  const isIn = (at: number) => ({ code: 0, said: `in as ${allocations[at]!.username}` })
  const refused = { code: 255, said: expect.stringContaining('Permission denied') }
  const stillHere = async (session: LiveSession) => {
    session.say('echo still here')
    expect(await session.next()).toBe('still here')
  }
  const untilGone = (at: number, person: string) => place.until('refused', async () => (await enter(at, person)).code === 255)

  test('SG-15 SG-22 the owner and two members log in with their own keys (needs sshd)', async () => {
    for (const person of ['asha', 'axel', 'aldo']) keys[person] = await place.pair(person)
    for (const at of both) {
      nodes[at] = await place.node(`story-${at}`)
      allocations[at] = await place.allocation('asha', nodes[at].sku, [keys.asha!])
      expect(await enter(at, 'axel')).toEqual(refused)
      grants[at] = {}
      sessions[at] = {}
      for (const person of ['axel', 'aldo']) grants[at][person] = await place.grant('asha', allocations[at].id, person, keys[person]!)
      for (const person of ['asha', 'axel', 'aldo']) {
        sessions[at][person] = await stayIn(nodes[at].sshd, allocations[at].username, keys[person]!)
        expect(sessions[at][person].said).toBe(`in as ${allocations[at].username}`)
      }
    }
    // Each node is for its own: a name of one is unknown to the other, whatever key.
    expect(await logIn(nodes[1]!.sshd, allocations[0]!.username, keys.asha!)).toEqual(refused)
  })

  test('SG-19 S10 one is revoked: the session ends, no new one begins, others stay (needs sshd)', async () => {
    const [{ id }, { axel, ...others }] = [allocations[0]!, sessions[0]!]
    axel!.say('setsid sleep 1234 > /dev/null 2>&1 & echo on')
    expect(await axel!.next()).toBe('on')
    const { uid } = (await findAccount(allocations[0]!.username))!
    const before = (await allProcesses()).filter((each) => each.uid === uid).length
    await place.revoke('asha', id, grants[0]!.axel!)
    await axel!.ended
    await untilGone(0, 'axel')
    await place.untilSync(id, grants[0]!.axel!, 'applied')
    expect(await place.seen(id, grants[0]!.axel!)).toMatchObject({ state: 'revoked', end_cause: 'revoked' })
    for (const session of Object.values(others)) await stillHere(session)
    // Two shells and their two connections; nothing of the third.
    expect((await allProcesses()).filter((each) => each.uid === uid).length).toBeLessThanOrEqual(before - 3)
    expect(await enter(0, 'aldo')).toEqual(isIn(0))
    // On the other node nothing was taken from him.
    await stillHere(sessions[1]!.axel!)
    const [task] = await world.sql<{
      result: { receipt: { sessions_ended: unknown[]; fingerprints: string[] }; receipt_signature: string }
    }>(`select result from node_tasks where allocation_id = $1 and state = 'completed' order by generation desc limit 1`, [id])
    expect(task!.result).toMatchObject({
      receipt_signature: expect.any(String),
      receipt: { sessions_ended: [{ fingerprint: keys.axel!.fingerprint, may_have_left_processes: false }] },
    })
    expect(task!.result.receipt.fingerprints).not.toContain(keys.axel!.fingerprint)
  })

  test('SG-08 the owner replaces the own keys: the new one lets in, the old one no more, members stay (needs sshd)', async () => {
    const { id } = allocations[0]!
    keys.renewed = await place.pair('asha')
    await place.done(200, 'asha', 'PUT', `/api/v1/allocations/${id}/ssh-keys`, { body: { ssh_key_ids: [keys.renewed.id] } })
    await sessions[0]!.asha!.ended
    await place.until('the new key', async () => (await enter(0, 'renewed')).code === 0)
    expect(await enter(0, 'asha')).toEqual(refused)
    await stillHere(sessions[0]!.aldo!)
    expect(await enter(0, 'aldo')).toEqual(isIn(0))
  })

  test('SG-15 S10 a key that a member plants at home lets nobody in (needs sshd)', async () => {
    const planted = await place.pair('axel')
    const session = sessions[1]!.axel!
    session.say(
      `mkdir -m 700 .ssh; echo '${planted.line}' | tee .ssh/authorized_keys > .ssh/authorized_keys2; chmod 600 .ssh/*; echo planted`,
    )
    expect(await session.next()).toBe('planted')
    expect(await logIn(nodes[1]!.sshd, allocations[1]!.username, planted)).toEqual(refused)
  })

  test('SG-20 S15 what somebody changes by hand is put back, and told (needs sshd)', async () => {
    const { layout } = nodes[1]!.sshd
    const strange = await place.pair('axel')
    const file = join(layout.keys_dir, allocations[1]!.username)
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, `${strange.line}\n`)
    await place.until('put back', async () => readFileSync(file, 'utf8') === text)
    expect(await logIn(nodes[1]!.sshd, allocations[1]!.username, strange)).toEqual(refused)
    expect(await enter(1, 'asha')).toEqual(isIn(1))
    const recorded = () =>
      world.sql(`select 1 from audit_logs where action = 'allocation.access_drift' and resource_id = $1`, [allocations[1]!.id])
    await place.until('told', async () => (await recorded()).length === 1)
  })

  test('SG-20 S9 a node is offline: that is said, and on return what has ended is gone before anything else (needs sshd)', async () => {
    const [{ id }, machine] = [allocations[1]!, nodes[1]!]
    await machine.end('SIGKILL')
    expect(await place.revoke('asha', id, grants[1]!.axel!)).toMatchObject({ state: 'ending', runtime_sync: { status: 'pending' } })
    expect(await place.seen(id, grants[1]!.axel!)).toMatchObject({ state: 'ending', runtime_sync: { status: 'pending' } })
    // It is the truth: nobody has told sshd.
    expect(await enter(1, 'axel')).toEqual(isIn(1))
    await stillHere(sessions[1]!.axel!)
    await machine.start()
    await sessions[1]!.axel!.ended
    await place.untilSync(id, grants[1]!.axel!, 'applied')
    expect(await place.seen(id, grants[1]!.axel!)).toMatchObject({ state: 'revoked' })
    expect(await enter(1, 'axel')).toEqual(refused)
    await stillHere(sessions[1]!.asha!)
    await stillHere(sessions[1]!.aldo!)
  })

  const ends: readonly (readonly [string, string, (key: RegisteredPair) => Promise<{ status: number }>])[] = [
    ['the key is deleted', 'key_deleted', ({ id }) => place.call('axel', 'DELETE', `/api/v1/ssh-keys/${id}`, { body: {} })],
    [
      'the person is disabled',
      'user_disabled',
      () => place.call('ada', 'POST', `/api/v1/admin/users/${seeded.user('axel')}/disable`, { body: { reason: 'left' } }),
    ],
  ]
  test.for(ends)('SG-11 S11 %s: access ends, and the session with it (needs sshd)', async ([, end_cause, act]) => {
    const { id, username } = allocations[0]!
    const key = await place.pair('axel')
    const grant = await place.grant('asha', id, 'axel', key)
    const session = await stayIn(nodes[0]!.sshd, username, key)
    expect((await act(key)).status).toBeLessThan(300)
    await session.ended
    expect(await logIn(nodes[0]!.sshd, username, key)).toEqual(refused)
    await place.untilSync(id, grant, 'applied')
    expect(await place.seen(id, grant)).toMatchObject({ end_cause })
    await stillHere(sessions[0]!.aldo!)
  })

  test('SG-11 S11 a member leaves the project: access ends on both nodes (needs sshd)', async () => {
    const { status } = await place.call('amara', 'DELETE', `/api/v1/projects/${seeded.project.aurora}/members/${seeded.user('aldo')}`, {
      body: { reason: 'left' },
    })
    expect(status).toBeLessThan(300)
    for (const at of both) {
      await sessions[at]!.aldo!.ended
      await untilGone(at, 'aldo')
      await place.untilSync(allocations[at]!.id, grants[at]!.aldo!, 'applied')
      expect(await place.seen(allocations[at]!.id, grants[at]!.aldo!)).toMatchObject({ end_cause: 'project_membership_ended' })
    }
    await stillHere(sessions[1]!.asha!)
  })

  test('SG-21 who was on an allocation, and how it ended, can be read, by person (needs sshd)', async () => {
    const { id } = allocations[0]!
    const listed = async (): Promise<{ user_ids: string[]; end: string | null; source_ip: string }[]> =>
      (await place.done(200, 'amara', 'GET', `/api/v1/allocations/${id}/ssh-sessions?limit=100`)).items
    const of = (person: string, end: string) => ({ user_ids: [seeded.user(person)], end, source_ip: '127.0.0.1' })
    const expected = [of('axel', 'key_removed'), of('asha', 'key_removed'), of('aldo', 'key_removed')]
    await place.until('all was told', async () => (await listed()).filter(({ end }) => end === 'key_removed').length === 5)
    for (const each of expected) expect(await listed()).toContainEqual(expect.objectContaining(each))
  })

  test('SG-23 S11 an allocation is released: nothing of it is left on the node (needs sshd)', async () => {
    const [{ id, username }, { sshd }] = [allocations[1]!, nodes[1]!]
    const { uid } = (await findAccount(username))!
    await place.done(202, 'asha', 'POST', `/api/v1/allocations/${id}/release`, { body: {} })
    await sessions[1]!.asha!.ended
    await place.untilState(id, 'released')
    expect(await enter(1, 'asha')).toEqual(refused)
    expect(await findAccount(username)).toBeUndefined()
    expect((await allProcesses()).filter((each) => each.uid === uid)).toEqual([])
    expect(readdirSync(sshd.layout.homes_dir)).toEqual([])
    expect(readdirSync(sshd.layout.keys_dir).filter((name) => !name.startsWith('.'))).toEqual([])
    // The one on the other node is as it was.
    expect(await enter(0, 'renewed')).toEqual(isIn(0))
    expect((await place.allocationOf(allocations[0]!.id)).state).toBe('active')
  })
})
