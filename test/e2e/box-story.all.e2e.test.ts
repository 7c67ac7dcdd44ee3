import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { type BoxPlace, boxPlace } from '../box/node.ts'
import { seeded } from '../live-server.ts'

describe.skipIf(!hasPart('systemd'))('the shipped agent and unit on a machine with systemd (needs systemd)', () => {
  let story: BoxPlace
  beforeAll(async () => {
    story = await boxPlace()
  })
  afterAll(() => story?.stop())

  test('SG-22 guide: every command typed on the machine → the node is enrolled, its agent runs and is connected (needs systemd)', async () => {
    const { node, box } = story
    expect(node.typed).toContain(`This machine is node ${node.id}.`)
    // Typed right after the start, and answered.
    expect(node.typed).toMatch(new RegExp(`^node +${node.id}$`, 'm'))
    expect(await box.sure('systemctl is-active gatehouse-agent')).toBe('active')
  })

  // A unit that cannot write /etc, as it was once shipped: it had been read and never run.
  const readOnly = '[Service]\nProtectSystem=full\nReadWritePaths=/etc\n'
  test('SG-22 provision: a unit for which /etc is read-only → no account, and the task says so (needs systemd)', async () => {
    const { box, node, place } = story
    const folder = '/etc/systemd/system/gatehouse-agent.service.d'
    await box.sure(`mkdir ${folder}; cat > ${folder}/once.conf; systemctl daemon-reload; systemctl restart gatehouse-agent`, {
      input: readOnly,
    })
    const key = await place.pair('asha')
    const body = { project_id: seeded.project.aurora, name: 'work', region: 'eu-1', sku: node.sku, gpus: 1, ssh_key_ids: [key.id] }
    const { id } = await place.done(201, 'asha', 'POST', '/api/v1/allocations', { body })
    await place.untilState(id, 'failed')
    expect(await node.log()).toMatch(/"failure":"(account_not_made|uid_not_kept)"/)
    await box.sure(`rm -r ${folder}; systemctl daemon-reload; systemctl restart gatehouse-agent`)
    await node.connected()
  })
})
