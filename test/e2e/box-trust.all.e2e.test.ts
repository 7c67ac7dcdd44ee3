import { webcrypto } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { waitForTasks } from '@gatehouse/contract/nodes'
import { beforeAll, describe, expect, test } from 'vitest'
import { enrolNodeAgain } from '../../contract/src/nodes.ts'
import { x509 } from '../../server/src/fleet/nodes/x509.ts'
import { hasPart } from '../../tools/test/parts.ts'
import { askThrough } from '../ask.ts'
import { agentClock } from '../box/agent-clock.ts'
import { boxFixture } from '../box/place.ts'
import { doorCaller } from '../enrolled-node.ts'
import { seeded } from '../live-server.ts'
import { logIn } from '../ssh/client.ts'
import type { RegisteredPair } from '../ssh/node-place.ts'

describe.skipIf(!hasPart('systemd'))('whom a machine believes, and what is on it already (needs systemd)', () => {
  const story = boxFixture()
  let owner: RegisteredPair
  beforeAll(async () => {
    owner = await story().place.pair('asha')
  })
  const asked = async () => {
    const { place, node } = story()
    const body = { project_id: seeded.project.aurora, name: 'work', region: 'eu-1', sku: node.sku, gpus: 1, ssh_key_ids: [owner.id] }
    const made = await place.done(201, 'asha', 'POST', '/api/v1/allocations', { body })
    return { id: made.id as string, username: made.username_on_node as string }
  }

  test('SG-15 provision: the next account numbers are somebody’s already → others are taken, and those stay as they are (needs systemd)', async () => {
    const { place, node, box } = story()
    const [first, second] = [66_000, 66_001]
    await box.sure(`useradd --no-log-init -u ${first} -m taken; groupadd -g ${second} taken-too`)
    const before = await box.sure('getent passwd taken; getent group taken-too; stat -c %u:%g ~taken')
    const { username, id } = await place.allocation('asha', node.sku, [owner])
    const [uid, gid] = (await box.sure(`id -u ${username}; id -g ${username}`)).split('\n').map(Number)
    expect([uid, gid].filter((each) => each === first || each === second)).toEqual([])
    expect(await box.sure('getent passwd taken; getent group taken-too; stat -c %u:%g ~taken')).toBe(before)
    await place.done(202, 'asha', 'POST', `/api/v1/allocations/${id}/release`, { body: {} })
    await place.untilState(id, 'released')
    expect(await box.sure('getent passwd taken; getent group taken-too; stat -c %u:%g ~taken')).toBe(before)
  })

  test.for([
    ['an account has', 'username_taken', (name: string) => `useradd --no-log-init -m ${name}; echo theirs > /home/${name}/file`],
    ['a home has', 'home_taken', (name: string) => `mkdir /home/${name}; echo theirs > /home/${name}/file`],
    [
      'a system’s group has',
      'username_taken',
      (name: string) => `groupadd --system ${name}; mkdir /srv/${name}; echo theirs > /srv/${name}/file`,
    ],
  ] as const)('SG-15 provision: %s the name already → failed, %s, and it stays as it is (needs systemd)', async ([, failure, take]) => {
    const { place, node, box } = story()
    await box.sure('systemctl stop gatehouse-agent')
    const { id, username } = await asked()
    await box.sure(take(username))
    const known = `getent passwd ${username}; getent group ${username}; cat /home/${username}/file /srv/${username}/file; true`
    const before = (await box.shell(known)).out
    expect(before).toContain('theirs')
    await box.sure('systemctl start gatehouse-agent')
    await place.untilState(id, 'failed')
    expect(await node.log()).toContain(`"failure":"${failure}"`)
    expect((await logIn(box, username, owner)).code).toBe(255)
    expect((await box.shell(known)).out).toBe(before)
  })

  test('SG-22 false door: a server with another authority at the door’s address → never told anything, and access stays as it was (needs systemd)', async () => {
    const { place, node, box } = story()
    const allocation = await place.allocation('asha', node.sku, [owner])
    const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
    const name = { name: 'CN=Gatehouse node authority', keys, signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' } }
    const extensions = [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])]
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({ ...name, extensions })
    const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
    const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8.match(/.{1,64}/g)!.join('\n')}\n-----END PRIVATE KEY-----\n`
    const told: string[] = []
    const knocks: string[] = []
    const door = createServer({ key, cert: certificate.toString('pem'), minVersion: 'TLSv1.3' }, ({ url }, reply) => {
      told.push(url!)
      reply.end('{}')
    })
    door.on('tlsClientError', ({ message }) => knocks.push(message))
    await once(door.listen(0, '127.0.0.1'), 'listening')
    await box.sure('mkdir -p /etc/gatehouse-agent; cat > /etc/gatehouse-agent/agent.json; systemctl restart gatehouse-agent', {
      input: JSON.stringify({ url: `https://127.0.0.1:${(door.address() as AddressInfo).port}` }),
    })
    await place.until('knocked', async () => knocks.length > 1)
    expect((await node.status()).server.state).toBe('unreachable')
    expect(told).toEqual([])
    expect((await logIn(box, allocation.username, owner)).code).toBe(0)
    // Nor does it enrol there: the token says whom to believe.
    await box.sure('systemctl stop gatehouse-agent')
    const enrolled = await box.shell('gatehouse-agent enrol --token-file -', { input: node.token })
    expect([enrolled.code, told]).toEqual([1, []])
    await box.sure('rm /etc/gatehouse-agent/agent.json; systemctl start gatehouse-agent')
    await node.connected()
    door.close()
  })

  /** What somebody who has copied the state folder is told, by the status of the answer. */
  const thief = async () => {
    const { box, node } = story()
    const { url, key, certificate, authority } = JSON.parse(await box.sure('cat /var/lib/gatehouse-agent/identity.json'))
    const { ask, stop } = doorCaller(url, { key, cert: certificate, ca: authority })
    const query = { run: crypto.randomUUID(), wait_seconds: 0, agent_version: '0.1.0' }
    return {
      tries: async () => (await ask(waitForTasks, { params: { node_id: node.id }, query })).status,
      stop,
    }
  }

  test('SG-22 stolen certificate: the node renews it twice → the copy counts no more, and the node does (needs systemd)', async () => {
    const { place, node, box } = story()
    const clock = await agentClock(box)
    await node.connected()
    const copy = await thief()
    // It is the node's word for as long as it counts: nothing but its age tells them apart.
    expect(await copy.tries()).toBe(200)
    await clock.set('+9h')
    const renewals = async () => (await node.log()).match(/certificate_renewed/g)?.length ?? 0
    await place.until('renewed twice', async () => {
      // An answer to its question is when it looks at its certificate.
      await place.done(202, 'ada', 'POST', `/api/v1/admin/nodes/${node.id}/probe`)
      await pause(500)
      return (await renewals()) >= 2
    })
    expect(await copy.tries()).toBe(403)
    copy.stop()
    await clock.takeAway()
    await node.connected()
  })

  test('SG-22 stolen certificate: the machine enrols anew as the guide says → the copy counts no more, people keep their access (needs systemd)', async () => {
    const { place, node, box } = story()
    const allocation = await place.allocation('asha', node.sku, [owner])
    const copy = await thief()
    expect(await copy.tries()).toBe(200)
    const again = await askThrough(place.call)('ada', enrolNodeAgain, { params: { node_id: node.id }, body: { reason: 'copied' } })
    await box.sure('systemctl stop gatehouse-agent')
    await box.sure('gatehouse-agent enrol --token-file -', { input: again.body.enrolment_token })
    expect(await copy.tries()).toBe(403)
    copy.stop()
    await box.sure('systemctl start gatehouse-agent')
    await node.connected()
    await place.until('in', async () => (await logIn(box, allocation.username, owner)).code === 0)
  })
})
