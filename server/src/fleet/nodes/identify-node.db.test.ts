import { webcrypto, X509Certificate } from 'node:crypto'
import { connect, type TLSSocket } from 'node:tls'
import { enrolNodeAgain, renewCertificate, retireNode } from '@gatehouse/contract/nodes'
import { describe, expect, test } from 'vitest'
import type { Actor } from '#ground/work/work.ts'
import { doorCaller, type EnrolledNode, enrolledNode, nodeKeys, pemOf, readToken, type Told } from '../../../../test/enrolled-node.ts'
import { because, enrol, enrolling, renewing, saidIn } from '../../../../test/enrolment-scene.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { x509 } from './x509.ts'

const live = serverFixture()

const auditOf = async (told: Told) => live.auditOf(String(told.headers['x-correlation-id']))

describe('who a node is', () => {
  /** A request of a node that changes nothing, by whom it is refused or not. */
  const speak = (node: Pick<EnrolledNode, 'call'>, id: string, base?: string) =>
    node.call('POST', renewing(id), { csr: 'x'.repeat(100) }, {}, base)
  const heard = { status: 400, code: 'invalid_csr' }
  const shutOut = { status: 403, code: 'insufficient_permissions', reason_code: 'membership_missing' }
  const shortly = ({ status, body }: Told) => ({
    status,
    code: body.code,
    ...(body.details?.reason_code ? { reason_code: body.details.reason_code } : {}),
  })

  test('SG-16 S8 a node speaks for itself alone: as another it is refused, whether or not that exists, and that is recorded', async () => {
    const [a, b] = [await enrolledNode(live), await enrolledNode(live)]
    const before = await live.sql('select count(*)::int as n from node_certificates')
    const { csr } = await nodeKeys()
    const said = []
    for (const id of [a.id, '00000000-0000-7000-8000-000000000000']) {
      const told = await b.ask(renewCertificate, { params: { node_id: id }, body: { csr } })
      said.push(saidIn(told))
      expect(shortly(told)).toEqual({ status: 403, code: 'insufficient_permissions', reason_code: 'scope_mismatch' })
      expect(await auditOf(told)).toMatchObject([
        { actor_type: 'node_agent', actor_id: b.id, result: 'denied', severity: 'high', reason_code: 'scope_mismatch' },
      ])
    }
    expect(said[0]).toEqual(said[1])
    expect(await live.sql('select count(*)::int as n from node_certificates')).toEqual(before)
    expect(shortly(await speak(b, b.id))).toEqual(heard)
    a.stop()
    b.stop()
  })

  test('SG-16 S8 control: who is believed by the path is heard as another', async () => {
    // A door that takes the node from what is asked for instead of the certificate.
    const broken = await live.replica((parts) => ({
      ...parts,
      identifyNode: async (socket, showing) => {
        await parts.identifyNode!(socket, showing)
        return { type: 'node_agent', id: victim.id, credential_id: 'serial' } satisfies Actor
      },
    }))
    const victim = await enrolledNode(live)
    const b = await enrolledNode(live)
    expect(shortly(await speak(b, victim.id, broken.nodes.url))).toEqual(heard)
    victim.stop()
    b.stop()
  })

  test('SG-16 S8 what is said beside the certificate does not change who asks', async () => {
    const [a, b] = [await enrolledNode(live), await enrolledNode(live)]
    const token = await live.tokenOf('ada')
    for (const headers of [
      { authorization: `Bearer ${token}` },
      { 'x-node-id': a.id, 'x-forwarded-client-cert': a.certificate.replaceAll('\n', ' '), 'x-ssl-client-s-dn': `CN=${a.id}` },
      { 'x-project-id': '00000000-0000-7000-8000-000000000000' },
    ] as Record<string, string>[]) {
      const told = await b.ask(renewCertificate, { params: { node_id: a.id }, body: { csr: 'x'.repeat(100) }, headers })
      expect([told.status, told.body.details?.reason_code]).toEqual([403, 'scope_mismatch'])
    }
    a.stop()
    b.stop()
  })

  test('SG-16 without a certificate nobody is a node, whatever token is shown', async () => {
    const node = await enrolledNode(live)
    const { call, stop } = doorCaller(node.url, { ca: node.authority })
    const token = await live.tokenOf('ada')
    for (const headers of [{}, { authorization: `Bearer ${token}` }] as Record<string, string>[]) {
      const told = await call('POST', renewing(node.id), { csr: 'x'.repeat(100) }, headers)
      expect(shortly(told)).toEqual({ status: 401, code: 'certificate_missing' })
      expect(told.body.message).toBe('A certificate of our authority is required.')
      expect(told.headers['www-authenticate']).toBe('Certificate')
    }
    stop()
    node.stop()
  })

  test('SG-16 each door serves its own operations and no others', async () => {
    const node = await enrolledNode(live)
    const token = await live.tokenOf('ada')
    for (const path of [
      '/api/v1/me',
      '/api/v1/admin/nodes',
      '/openapi.json',
      '/healthz',
      '/readyz',
      '/metrics',
      '/.well-known/jwks.json',
      '/docs',
    ])
      expect([path, (await node.call('GET', path, undefined, { authorization: `Bearer ${token}` })).status]).toEqual([path, 404])
    for (const [method, path] of [
      ['POST', enrol],
      ['POST', renewing(node.id)],
      ['GET', `/internal/v1/nodes/${node.id}/tasks/wait`],
    ] as const)
      expect([path, (await live.call('ada', method, path, method === 'POST' ? { body: {} } : {})).status]).toEqual([path, 404])
    node.stop()
  })

  test('SG-22 S8 a retired node is shut out at its next request, on connections that are open, at every replica, and may not enrol', async () => {
    const others = [await live.replica(), await live.replica()]
    const bases = [live.nodes.url, ...others.map(({ nodes: { url } }) => url)]
    const node = await enrolledNode(live)
    const offered = await live.ask('ada', enrolNodeAgain, { params: { node_id: node.id }, ...because })
    for (const base of bases) expect(shortly(await speak(node, node.id, base))).toEqual(heard)
    const retired = await live.ask('ada', retireNode, { params: { node_id: node.id }, ...because })
    expect(retired.body).toMatchObject({ status: 'retired', certificate_expires_at: null })
    for (const base of bases) {
      const told = await speak(node, node.id, base)
      expect(shortly(told)).toEqual(shutOut)
      const [event, ...more] = await auditOf(told)
      expect(more).toEqual([])
      const { fingerprint256 } = new X509Certificate(node.certificate)
      expect(event).toMatchObject({
        action: 'node.certificate.refuse',
        result: 'denied',
        severity: 'high',
        actor_id: node.id,
        metadata: { why: 'node_retired', thumbprint: fingerprint256.replaceAll(':', '').toLowerCase(), claimed: node.id },
      })
    }
    const token: string = offered.body.enrolment_token
    expect((await enrolling({ ...readToken(token), token })).status).toBe(401)
    expect((await live.ask('ada', retireNode, { params: { node_id: node.id }, ...because })).status).toBe(409)
    expect((await live.ask('ada', enrolNodeAgain, { params: { node_id: node.id }, ...because })).status).toBe(409)
    node.stop()
  })

  test('SG-22 S8 control: a door that looks a certificate up once for each connection still hears a retired node', async () => {
    const known = new WeakMap<object, Actor>()
    const broken = await live.replica((parts) => ({
      ...parts,
      identifyNode: async (socket, showing) => {
        const before = known.get(socket) ?? (await parts.identifyNode!(socket, showing))
        known.set(socket, before)
        return before
      },
    }))
    const node = await enrolledNode(live)
    expect(shortly(await speak(node, node.id, broken.nodes.url))).toEqual(heard)
    await live.ask('ada', retireNode, { params: { node_id: node.id }, ...because })
    // Not shut out at the door; what it asks for then finds no node any more.
    expect(shortly(await speak(node, node.id, broken.nodes.url))).not.toEqual(shutOut)
    expect(shortly(await speak(node, node.id))).toEqual(shutOut)
    node.stop()
  })

  /** An authority of somebody else's that calls itself as ours does, and a certificate by it for a node of ours. */
  const forged = async (node: EnrolledNode) => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
    const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
    const own = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
    const ours = new x509.X509Certificate(node.authority)
    const copied = new x509.X509Certificate(node.certificate)
    const common = { notBefore: copied.notBefore, notAfter: copied.notAfter, signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' } }
    const made = await x509.X509CertificateGenerator.create({
      ...common,
      serialNumber: copied.serialNumber,
      subject: copied.subject,
      issuer: ours.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions: copied.extensions,
    })
    const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', own.privateKey)).toString('base64')
    return { cert: made.toString('pem'), key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`, ca: node.authority }
  }

  test('SG-22 S8 a certificate of another authority with the name, the serial and all else of a node is nobody’s', async () => {
    const node = await enrolledNode(live)
    const { call, stop } = doorCaller(node.url, await forged(node))
    const told = await speak({ call }, node.id)
    expect(shortly(told)).toEqual(shutOut)
    expect(await auditOf(told)).toMatchObject([
      { action: 'node.certificate.refuse', severity: 'high', resource_id: null, metadata: { why: 'not_ours', claimed: node.id } },
    ])
    stop()
    node.stop()
  })

  test('SG-22 S8 control: a door that believes the name in a certificate hears the forger', async () => {
    const broken = await live.replica((parts) => ({
      ...parts,
      identifyNode: async (socket) =>
        ({
          type: 'node_agent',
          id: /CN=(.*)/.exec(socket.getPeerX509Certificate()!.subject)![1]!,
          credential_id: 'serial',
        }) satisfies Actor,
    }))
    const node = await enrolledNode(live)
    const { call, stop } = doorCaller(broken.nodes.url, await forged(node))
    expect(shortly(await speak({ call }, node.id))).toEqual(heard)
    stop()
    node.stop()
  })

  test('SG-22 S8 what is in the table but was not signed by the authority is not believed', async () => {
    const node = await enrolledNode(live)
    const showing = await forged(node)
    const { fingerprint256 } = new X509Certificate(showing.cert)
    await live.sql('update node_certificates set thumbprint = $2 where node_id = $1', [
      node.id,
      fingerprint256.replaceAll(':', '').toLowerCase(),
    ])
    const { call, stop } = doorCaller(node.url, showing)
    expect(shortly(await speak({ call }, node.id))).toEqual(shutOut)
    stop()
    node.stop()
  })

  test.each([
    [
      'expired',
      `update node_certificates set issued_at = now() - interval '2 days', expires_at = now() - interval '1 second' where node_id = $1`,
    ],
    ['ended', `update node_certificates set ended_at = now(), end_reason = 'x' where node_id = $1`],
    ['backup_restored', 'update node_certificates set epoch = (select epoch + 1 from installation) where node_id = $1'],
    ['not_ours', `update node_certificates set thumbprint = repeat('0', 64) where node_id = $1`],
  ])('SG-22 S8 a certificate that is %s counts no more, on a connection that is open', async (why, text) => {
    const node = await enrolledNode(live)
    expect(shortly(await speak(node, node.id))).toEqual(heard)
    await live.sql(text, [node.id])
    const told = await speak(node, node.id)
    expect(shortly(told)).toEqual(shutOut)
    expect(await auditOf(told)).toMatchObject([{ severity: 'high', metadata: { why } }])
    await live.sql(`delete from node_certificates where node_id = $1`, [node.id])
    node.stop()
  })
})

describe('the door', () => {
  const connected = (node: EnrolledNode, more: object): Promise<TLSSocket> => {
    const { port, hostname } = new URL(node.url)
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
    const socket = connect({ host: hostname, port: Number(port), ca: node.authority, key: node.key, cert: node.certificate, ...more }, () =>
      resolve(socket),
    )
    socket.once('error', reject)
    return promise
  }

  test('SG-22 it shows a certificate of the authority that the token names, and speaks nothing older than TLS 1.3', async () => {
    const node = await enrolledNode(live)
    const socket = await connected(node, {})
    expect([socket.authorized, socket.getProtocol()]).toEqual([true, 'TLSv1.3'])
    socket.destroy()
    await expect(connected(node, { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' })).rejects.toThrow(/protocol version/)
    // Who pins another authority does not go in.
    const { cert } = { cert: pemOf(Buffer.from(new X509Certificate(node.certificate).raw).toString('base64')) }
    await expect(connected(node, { ca: cert })).rejects.toThrow(/verify|issuer|certificate/)
    node.stop()
  })

  test('SG-22 S8 no connection takes up where another ended: a node that is shut out stays so', async () => {
    const node = await enrolledNode(live)
    const sessions: Buffer[] = []
    const first = await connected(node, {})
    first.on('session', (session) => sessions.push(session))
    const said = (socket: TLSSocket) => {
      const { promise, resolve } = Promise.withResolvers<string>()
      let text = ''
      socket.on('data', (part) => {
        text += String(part)
        if (text.includes('}')) resolve(text)
      })
      const body = JSON.stringify({ csr: 'x'.repeat(100) })
      socket.write(
        `POST ${renewing(node.id)} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      return promise
    }
    expect(await said(first)).toMatch(/^HTTP\/1.1 400 .*invalid_csr/s)
    first.destroy()
    for (const session of sessions) {
      const again = await connected(node, { session })
      expect(again.isSessionReused()).toBe(false)
      again.destroy()
    }
    await live.ask('ada', retireNode, { params: { node_id: node.id }, ...because })
    const last = await connected(node, sessions[0] ? { session: sessions[0] } : {})
    expect(await said(last)).toMatch(/^HTTP\/1.1 403 .*membership_missing/s)
    last.destroy()
    node.stop()
  })
})
