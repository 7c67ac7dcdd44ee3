import { beforeAll, describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { boxFixture } from '../box/place.ts'
import { seeded } from '../live-server.ts'
import { type LiveSession, logIn, stayIn } from '../ssh/client.ts'
import type { RegisteredPair } from '../ssh/node-place.ts'

/** One story, told in order: a machine becomes a node by the guide's own words, serves people, and is a plain machine again. */
describe.skipIf(!hasPart('systemd'))('the shipped agent and units on a machine with systemd (needs systemd)', () => {
  const story = boxFixture()
  let [owner, member]: RegisteredPair[] = []
  let allocation: { id: string; username: string }
  const sessions: LiveSession[] = []
  const enter = (pair: RegisteredPair, command?: string) => logIn(story().box, allocation.username, pair, command)
  const stay = async (pair: RegisteredPair) => {
    const session = await stayIn(story().box, allocation.username, pair)
    sessions.push(session)
    return session
  }
  const stillHere = async (session: LiveSession) => {
    session.say('echo still here')
    expect(await session.next()).toBe('still here')
  }
  const untilRefused = (pair: RegisteredPair) => story().place.until('refused', async () => (await enter(pair)).code === 255)
  const agent = (verb: string) => story().box.sure(`systemctl ${verb} gatehouse-agent`)
  beforeAll(async () => {
    ;[owner, member] = [await story().place.pair('asha'), await story().place.pair('axel')]
  })

  test('SG-24 guide: every command typed on the machine → the node is enrolled, its agent runs and no unit has failed (needs systemd)', async () => {
    const { node, box } = story()
    expect(node.typed).toContain(`This machine is node ${node.id}.`)
    // Typed right after the start, and answered.
    expect(node.typed).toMatch(new RegExp(`^node +${node.id}$`, 'm'))
    expect(await box.sure('systemctl is-active gatehouse-agent')).toBe('active')
    expect(await box.sure('systemctl --failed --plain --no-legend')).toBe('')
  })

  test('SG-24 login: owner and member → in, in the slice of sessions; root logs in as before and is not in it (needs systemd)', async () => {
    const { place, node } = story()
    allocation = await place.allocation('asha', node.sku, [owner!])
    await place.grant('asha', allocation.id, 'axel', member!)
    const group = new RegExp(`/gatehouse\\.slice/.*${allocation.username}`)
    for (const pair of [owner!, member!]) expect((await enter(pair, 'cat /proc/self/cgroup')).said).toMatch(group)
    expect((await node.operator.type('cat /proc/self/cgroup')).said).not.toContain('gatehouse')
  })

  test('SG-24 drift: somebody changes the key file by hand → it is put back, and the change let nobody in (needs systemd)', async () => {
    const { box, place } = story()
    const strange = await place.pair('aldo')
    const file = `/etc/gatehouse-agent/keys/${allocation.username}`
    await box.sure(`cat > ${file}`, { input: `${strange.line}\n` })
    await place.until('put back', async () => (await box.sure(`cat ${file}`)).includes(owner!.blob))
    expect(await box.sure(`cat ${file}`)).not.toContain(strange.blob)
    await untilRefused(strange)
    expect(await enter(owner!, 'echo in')).toEqual({ code: 0, said: 'in' })
  })

  test('SG-24 agent stopped: a login meanwhile has its group → what it detached ends at the revoke, others stay (needs systemd)', async () => {
    const { box, place } = story()
    const others = await stay(owner!)
    await agent('stop')
    const session = await stay(member!)
    session.say('grep ^0: /proc/self/cgroup')
    expect(await session.next()).toContain('/gatehouse.slice/')
    session.say('setsid nohup sleep 4321 > /dev/null 2>&1 & setsid nohup bash -c "exec -a detached sleep 4321" > /dev/null 2>&1 & echo on')
    expect(await session.next()).toBe('on')
    await session.close()
    expect((await box.sure('pgrep -f "sleep 4321|detached"')).split('\n').length).toBeGreaterThanOrEqual(2)
    await stillHere(others)
    await agent('start')
    await stillHere(others)
    const grant = (await place.done(200, 'amara', 'GET', `/api/v1/allocations/${allocation.id}/access-grants?limit=9`)).items[0].id
    await place.revoke('asha', allocation.id, grant)
    await place.untilSync(allocation.id, grant, 'applied')
    expect((await box.shell('pgrep -f "sleep 4321|detached"')).out).toBe('')
    await untilRefused(member!)
    await stillHere(others)
  })

  test('SG-24 agent restarted, and killed → sessions go on, and a revoke ends the one that it is for (needs systemd)', async () => {
    const { place, node, box } = story()
    const [others, grant] = [sessions[0]!, await place.grant('asha', allocation.id, 'axel', member!)]
    const session = await stay(member!)
    await agent('restart')
    await box.sure('systemctl kill -s KILL gatehouse-agent')
    await stillHere(session)
    await place.until('another', async () => (await box.sure('systemctl show -P NRestarts gatehouse-agent')) === '1')
    await node.connected()
    await place.revoke('asha', allocation.id, grant)
    await session.ended
    await stillHere(others)
  })

  test('SG-24 release: → account, home, key file, unit and group are gone, and the session with them (needs systemd)', async () => {
    const { place, box } = story()
    const { id, username } = allocation
    await place.done(202, 'asha', 'POST', `/api/v1/allocations/${id}/release`, { body: {} })
    await sessions[0]!.ended
    await place.untilState(id, 'released')
    expect((await enter(owner!)).code).toBe(255)
    const left = `getent passwd ${username}; getent group ${username}; ls -A /home | grep -E '${username}|removed'; ls /etc/gatehouse-agent/keys; grep -rl --exclude='*-' ${username} /etc; find /sys/fs/cgroup/gatehouse.slice -name '*${username}*'`
    expect((await box.shell(left)).out).toBe('')
  })

  // A unit that cannot write /etc, as it was once shipped: it had been read and never run.
  test('SG-24 red control: a unit for which /etc is read-only → no account, and the task says so (needs systemd)', async () => {
    const { box, node, place } = story()
    const folder = '/etc/systemd/system/gatehouse-agent.service.d'
    await box.sure(`mkdir ${folder}; cat > ${folder}/once.conf; systemctl daemon-reload; systemctl restart gatehouse-agent`, {
      input: '[Service]\nProtectSystem=full\nReadWritePaths=/etc\n',
    })
    const body = { project_id: seeded.project.aurora, name: 'work', region: 'eu-1', sku: node.sku, gpus: 1, ssh_key_ids: [owner!.id] }
    const { id } = await place.done(201, 'asha', 'POST', '/api/v1/allocations', { body })
    await place.untilState(id, 'failed')
    expect(await node.log()).toMatch(/"failure":"(account_not_made|uid_not_kept)"/)
    await box.sure(`rm -r ${folder}; systemctl daemon-reload; systemctl restart gatehouse-agent`)
    await node.connected()
  })

  test('SG-24 guide: cleared and removed by its own commands → managed accounts and all that was installed are gone, sshd serves others (needs systemd)', async () => {
    const { place, node, box } = story()
    const { username } = await place.allocation('asha', node.sku, [owner!])
    await place.done(200, 'ada', 'POST', `/api/v1/admin/nodes/${node.id}/retire`, { body: { reason: 'sold' } })
    expect(await node.operator.typeBlock('systemctl stop gatehouse-agent')).toContain(`${username} is gone`)
    await box.sure('systemctl disable --now gatehouse-agent')
    await node.operator.typeBlock('getent group')
    expect(
      (
        await node.operator.type(
          'sshd -T | grep -i gatehouse; ls /etc/ssh/sshd_config.d; grep gatehouse /etc/pam.d/* /etc/passwd /etc/group',
        )
      ).said,
    ).not.toContain('gatehouse')
    const left = await box.sure('find /etc /usr /var/lib /home -xdev -name "*gatehouse*" -not -path "/var/lib/gatehouse-*"')
    // The settings and the numbers that were given stay, as the guide says.
    expect(left.split('\n')).toEqual(['/etc/gatehouse-agent'])
  })
})
