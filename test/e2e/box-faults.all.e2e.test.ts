import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { agentClock } from '../box/agent-clock.ts'
import { boxFixture } from '../box/place.ts'
import { logIn, stayIn } from '../ssh/client.ts'
import type { RegisteredPair } from '../ssh/node-place.ts'

/** Told by what they leave behind: the agent and unit as shipped, on a machine that things happen to. Each begins where the one before ended. */
describe.skipIf(!hasPart('systemd'))('what happens to a machine (needs systemd)', () => {
  const story = boxFixture()
  let [owner, member]: RegisteredPair[] = []
  let allocation: { id: string; username: string }
  const enter = (pair: RegisteredPair, command?: string) => logIn(story().box, allocation.username, pair, command)
  const refused = { code: 255, said: expect.stringContaining('Permission denied') }
  const untilIn = (pair: RegisteredPair) => story().place.until('in', async () => (await enter(pair)).code === 0)
  const untilRefused = (pair: RegisteredPair) => story().place.until('refused', async () => (await enter(pair)).code === 255)
  beforeAll(async () => {
    const { place, node } = story()
    ;[owner, member] = [await place.pair('asha'), await place.pair('axel')]
    allocation = await place.allocation('asha', node.sku, [owner])
  })

  test.for(['no bytes', 'no files'] as const)(
    'SG-19 SG-23 full disk: %s are left → a revoke and a release still end session and login; with room again all is as wanted (needs systemd)',
    async (left) => {
      const { place, node, box } = story()
      const grant = await place.grant('asha', allocation.id, 'axel', member!)
      const other = await place.allocation('asha', node.sku, [owner!])
      const [revoked, released] = [await stayIn(box, allocation.username, member!), await stayIn(box, other.username, owner!)]
      await box.sure('mkdir -p /etc/room')
      await box.setDisk(left)
      // Red control: there really is no room, also where somebody removed a file meanwhile.
      const fill = 'for file in $(seq 10000); do echo room > /etc/room/$file || break; done'
      expect((await box.shell(fill)).err).toContain('No space left on device')
      await place.revoke('asha', allocation.id, grant)
      await revoked.ended
      await untilRefused(member!)
      await place.done(202, 'asha', 'POST', `/api/v1/allocations/${other.id}/release`, { body: {} })
      await released.ended
      await place.until('refused', async () => (await logIn(box, other.username, owner!)).code === 255)
      // One that is asked for now waits for room, and nothing of it is half there.
      const asked = place.allocation('asha', node.sku, [owner!])
      await pause(1000)
      await box.setDisk('roomy')
      await box.sure('rm -rf /etc/room')
      const made = await asked
      await untilIn(owner!)
      expect(await logIn(box, made.username, owner!)).toMatchObject({ code: 0 })
      expect(await enter(member!)).toEqual(refused)
      // What could not be released for want of room is, when it is asked for again.
      for (const { id } of [made, other]) {
        await place.call('asha', 'POST', `/api/v1/allocations/${id}/release`, { body: {} })
        await place.untilState(id, 'released')
      }
      expect((await box.shell(`ls -d /home/${other.username}; getent passwd ${other.username}`)).out).toBe('')
    },
  )

  test('SG-23 power cut: live allocations and sessions → after it keys let in as before, nothing of a session is left, a revoke meanwhile holds (needs systemd)', async () => {
    const { place, node, box } = story()
    const grant = await place.grant('asha', allocation.id, 'axel', member!)
    const session = await stayIn(box, allocation.username, owner!)
    session.say('setsid sleep 4321 > /dev/null 2>&1 & echo on')
    expect(await session.next()).toBe('on')
    await box.cut()
    await place.revoke('asha', allocation.id, grant)
    await box.boot()
    await node.connected()
    await untilIn(owner!)
    await untilRefused(member!)
    expect((await box.shell('pgrep -f "sleep 4321"')).out).toBe('')
    await place.untilSync(allocation.id, grant, 'applied')
    const told = async () => (await place.done(200, 'amara', 'GET', `/api/v1/allocations/${allocation.id}/ssh-sessions?limit=100`)).items
    // Nobody stays logged in for ever because nobody saw the end.
    await place.until('all ended', async () => (await told()).every((each: { ended_at: string | null }) => each.ended_at !== null))
  })

  test('SG-11 SG-22 clock: the agent’s is ahead → what seems over ends, and comes back; behind → it believes no task, and says so (needs systemd)', async () => {
    const { place, node, box } = story()
    const clock = await agentClock(box)
    await node.connected()
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
    const grant = await place.grant('asha', allocation.id, 'axel', member!, { expires_at: tomorrow })
    const [session, others] = [await stayIn(box, allocation.username, member!), await stayIn(box, allocation.username, owner!)]
    await clock.set('+2d')
    await session.ended
    expect(others.isOpen()).toBe(true)
    await clock.set('+0d')
    await untilIn(member!)
    expect((await node.status()).server.state).toBe('connected')

    await clock.set('-2d')
    await place.revoke('asha', allocation.id, grant)
    await place.until('said', async () => (await node.status()).refused_tasks.count > 0)
    // It is the truth: nothing was applied, and nobody is told that it was.
    expect(await place.seen(allocation.id, grant)).toMatchObject({ state: 'ending', runtime_sync: { status: 'pending' } })
    await clock.set('+0d')
    await untilRefused(member!)
    await place.untilSync(allocation.id, grant, 'applied')
    await others.close()
    await clock.takeAway()
    await node.connected()
  })
})
