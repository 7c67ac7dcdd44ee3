import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { logIn } from '../ssh/client.ts'
import { type NodePlace, nodePlace } from '../ssh/node-place.ts'

/** What an operator may do to a node by hand, and what is said of its accounts from then on. */
describe.skipIf(!hasPart('sshd'))('a node that is not as it should be (needs sshd)', () => {
  let clone: ClonedDatabase
  let world: FaultWorld
  let place: NodePlace
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

  test('SG-20 I7 nothing is called applied while sshd is broken or the account is gone, and again when the node has said so (needs sshd)', async () => {
    const [hers, his] = [await place.pair('asha'), await place.pair('axel')]
    const node = await place.node('drift')
    const { id, username } = await place.allocation('asha', node.sku, [hers])
    const grant = await place.grant('asha', id, 'axel', his)
    const said = async () => [(await place.allocationOf(id)).runtime_sync.status, (await place.seen(id, grant)).runtime_sync.status]
    const untilSaid = (status: string) => place.until(`both are ${status}`, async () => (await said()).every((each) => each === status))
    expect(await said()).toEqual(['applied', 'applied'])

    const { config } = node.sshd.layout.sshd
    const sound = readFileSync(config, 'utf8')
    writeFileSync(config, `${sound}NoSuchSetting yes\n`)
    await untilSaid('failed')
    expect((await place.allocationOf(id)).state).toBe('active')
    writeFileSync(config, sound)
    await place.done(200, 'asha', 'PUT', `/api/v1/allocations/${id}/ssh-keys`, { body: { ssh_key_ids: [hers.id] } })
    await untilSaid('applied')

    execFileSync('/usr/sbin/userdel', ['--force', '--remove', username], { stdio: 'ignore' })
    await place.until('said of the account', async () => !(await said()).includes('applied'))
    await untilSaid('applied')
    for (const pair of [hers, his]) expect(await logIn(node.sshd, username, pair)).toMatchObject({ code: 0 })
  })
})
