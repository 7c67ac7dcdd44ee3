import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { hasOlderBounds } from '../box/box.ts'
import { boxFixture } from '../box/place.ts'
import { type LiveSession, logIn, stayIn } from '../ssh/client.ts'
import type { RegisteredPair } from '../ssh/node-place.ts'

const [tasks_max, sessions_max, memory_max_bytes] = [100, 3, 300 * 2 ** 20]

/** Where this machine's kernel keeps bounds in the older hierarchies, the box has those beside: else they would be written down and kept by nobody. */
describe.skipIf(!hasPart('systemd'))('bounds of an allocation (needs systemd)', () => {
  const story = boxFixture({ is_hybrid: hasOlderBounds() })
  let owner: RegisteredPair
  let allocation: { id: string; username: string }
  const doing = (command: string) => logIn(story().box, allocation.username, owner, command)
  beforeAll(async () => {
    const { place, node, world } = story()
    const bounds = {
      'access.session_tasks_max': tasks_max,
      'access.max_sessions_per_allocation': sessions_max,
      'access.session_memory_max_bytes': memory_max_bytes,
    }
    for (const [key, value] of Object.entries(bounds))
      await world.sql('update policy_values set value = $2 where key = $1 and replaced_at is null', [key, JSON.stringify(value)])
    owner = await place.pair('asha')
    allocation = await place.allocation('asha', node.sku, [owner])
  })

  test('SG-28 status: the node can bound → nothing is said to be not enforced (needs systemd)', async () => {
    expect((await story().node.status()).unenforced ?? []).toEqual([])
  })

  test('SG-28 tasks: a session starts more than policy allows → refused by the kernel; another account is not held up (needs systemd)', async () => {
    const { place, node, box } = story()
    const session = await stayIn(box, allocation.username, owner)
    session.say('for i in $(seq 200); do sleep 30 & done 2> /dev/null')
    const running = async () => Number(await box.sure(`pgrep -u ${allocation.username} -c || true`))
    await place.until('many', async () => (await running()) > tasks_max * 0.8)
    await pause(1000)
    expect(await running()).toBeLessThanOrEqual(tasks_max + 10)
    const other = await place.allocation('asha', node.sku, [owner])
    // Red control: as root the same count is reached.
    expect(Number(await box.sure('for i in $(seq 200); do sleep 5 & done; jobs -p | wc -l; kill $(jobs -p)'))).toBe(200)
    expect((await logIn(box, other.username, owner, 'for i in 1 2 3; do true & done; wait; echo well')).said).toBe('well')
    await box.sure(`pkill -KILL -u ${allocation.username} -x sleep`)
    await session.close()
  })

  test('SG-28 SG-25 fork bomb: a member’s processes make others without end → bounded, and the revoke ends all of them (needs systemd)', async () => {
    const { place, box } = story()
    const member = await place.pair('axel')
    const grant = await place.grant('asha', allocation.id, 'axel', member)
    const session = await stayIn(box, allocation.username, member)
    session.say('bomb() { bomb | bomb & }; bomb 2> /dev/null; (while :; do (sleep 1 &) ; done) 2> /dev/null &')
    const running = async () => Number(await box.sure(`pgrep -u ${allocation.username} -c || true`))
    await place.until('many', async () => (await running()) > tasks_max / 2)
    expect(await running()).toBeLessThanOrEqual(tasks_max + 10)
    await place.revoke('asha', allocation.id, grant)
    await session.ended
    await place.until('none', async () => (await running()) === 0)
    expect((await doing('echo in')).said).toBe('in')
  })

  test('SG-28 memory: a session takes more than policy allows → it is ended, others go on (needs systemd)', async () => {
    const { box } = story()
    const others = await stayIn(box, allocation.username, owner)
    const take = (megabytes: number) =>
      `node -e "for (const all = []; all.length < ${megabytes}; ) all.push(Buffer.alloc(1e6, 1))" && echo taken`
    expect((await doing(take(600))).said).not.toContain('taken')
    expect((await doing(take(100))).said).toContain('taken')
    expect(others.isOpen()).toBe(true)
    await others.close()
  })

  test('SG-28 sessions: one more than policy allows → refused; one ends → the next is let in (needs systemd)', async () => {
    const { box, place } = story()
    const sessions: LiveSession[] = []
    for (let at = 0; at < sessions_max; at += 1) sessions.push(await stayIn(box, allocation.username, owner))
    expect((await doing('echo in')).code).toBe(255)
    await sessions[0]!.close()
    await place.until('in', async () => (await doing('echo in')).code === 0)
    for (const session of sessions.slice(1)) await session.close()
  })
})
