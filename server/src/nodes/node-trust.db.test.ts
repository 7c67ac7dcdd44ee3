import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { connect, type TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import {
  doorCaller,
  type EnrolledNode,
  enrolledNode,
  nodeFixture,
  nodeKeys,
  pemOf,
  readToken,
  registeredNode,
  type Told,
} from '../../../test/enrolled-node.ts'
import { liveServer, serverFixture, testKeys } from '../../../test/live-server.ts'
import { appendWith } from '../audit/append.ts'
import { parseKeyRing } from '../custody/key-ring.ts'
import { auditKey } from '../installation/own-secrets.ts'
import { rewrap } from '../installation/rewrap.ts'
import { envelopeColumns } from '../wiring.ts'
import type { Actor } from '../work/work.ts'
import { ensureAuthority } from './authority.ts'
import { issueSignerCertificate } from './issue-certificate.ts'
import { x509 } from './x509.ts'

const live = serverFixture()

const enrol = '/internal/v1/nodes/enroll'
const nodes = '/api/v1/admin/nodes'
const because = { body: { reason: 'because' } }
const renewing = (id: string) => `/internal/v1/nodes/${id}/certificate`

/** Asks the door without a certificate. */
const asStranger = async (url: string, ca: string, body: unknown, path = enrol): Promise<Told> => {
  const { call, stop } = doorCaller(url, { ca })
  try {
    return await call('POST', path, body)
  } finally {
    stop()
  }
}
const enrolling = async (node: { url: string; ca: string; token: string }, token = node.token) =>
  asStranger(node.url, pemOf(node.ca), { enrolment_token: token, csr: (await nodeKeys()).csr })

const auditOf = async (told: Told) => live.auditOf(String(told.headers['x-correlation-id']))
/** All that is said, but for the id of the request. */
const saidIn = ({ status, body }: Told) => ({ status, ...body, correlation_id: null })

describe('enrolment', () => {
  test('SG-22 a node enrols once with its token: the certificate is for its key and its name, and lasts a day', async () => {
    const node = await registeredNode(live, { name: 'first-node' })
    const { key, csr } = await nodeKeys()
    const told = await asStranger(node.url, pemOf(node.ca), { enrolment_token: node.token, csr, agent_version: '1.2.3' })
    expect(told.status).toBe(201)
    const certificate = new X509Certificate(told.body.certificate)
    expect(certificate.subject).toBe(`CN=${node.id}`)
    expect(certificate.subjectAltName).toBe(`URI:gatehouse:node:${node.id}`)
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
    expect(certificate.ca).toBe(false)
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect(certificate.verify(new X509Certificate(pemOf(node.ca)).publicKey)).toBe(true)
    const lasts = certificate.validToDate.getTime() - Date.now()
    expect(lasts).toBeGreaterThan(23 * 3600 * 1000)
    expect(lasts).toBeLessThanOrEqual(24 * 3600 * 1000)
    expect(new Date(told.body.renew_after).getTime()).toBeLessThan(certificate.validToDate.getTime())
    const read = await live.call('otto', 'GET', `${nodes}/${node.id}`)
    expect(read.body).toMatchObject({ name: 'first-node', status: 'active', agent_version: '1.2.3', gpus_taken: 0 })
    expect(read.body.certificate_expires_at).toBe(certificate.validToDate.toISOString())
    const [event, ...more] = await auditOf(told)
    expect(more).toEqual([])
    expect(event).toMatchObject({
      action: 'node.enrol',
      actor_type: 'node_agent',
      actor_id: node.id,
      resource_id: node.id,
      result: 'success',
      severity: 'high',
    })
  })

  test('SG-22 a token that is wrong, used, void, expired, of an earlier epoch, of a retired node or none at all opens nothing, and all are told alike', async () => {
    const fresh = () => registeredNode(live)
    const [used, voided, expired, restored, retired, other] = [
      await fresh(),
      await fresh(),
      await fresh(),
      await fresh(),
      await fresh(),
      await fresh(),
    ]
    expect((await enrolling(used)).status).toBe(201)
    expect((await live.call('ada', 'POST', `${nodes}/${voided.id}/enrolments`, because)).status).toBe(201)
    await live.sql(
      `update node_enrolments set created_at = created_at - interval '15 minutes', expires_at = expires_at - interval '15 minutes' where node_id = $1`,
      [expired.id],
    )
    await live.sql('update installation set epoch = epoch + 1')
    await live.sql('update node_enrolments set epoch = epoch + 1 where node_id <> $1', [restored.id])
    expect((await live.call('ada', 'POST', `${nodes}/${retired.id}/retire`, because)).status).toBe(200)
    const spelled = (changed: object) =>
      `ghne_${Buffer.from(JSON.stringify({ v: 1, url: other.url, node_id: other.id, secret: other.secret, ca: other.ca, ...changed })).toString('base64url')}`
    const secret = randomBytes(32).toString('base64url')
    const tries: [string, string, string][] = [
      ['used', used.token, used.id],
      ['void', voided.token, voided.id],
      ['expired', expired.token, expired.id],
      ['backup_restored', restored.token, restored.id],
      ['void', retired.token, retired.id],
      ['wrong_secret', spelled({ secret }), other.id],
      // What was made for one node is nothing for another.
      ['wrong_secret', spelled({ secret: voided.secret }), other.id],
      ['unknown', spelled({ node_id: '00000000-0000-7000-8000-000000000000' }), ''],
      ['unknown', spelled({ v: 2 }), ''],
      ['unknown', 'ghne_', ''],
      ...['A', '=', ' ', '.'].map((end): [string, string, string] => ['unknown', `${other.token}${end}`, '']),
      ['unknown', other.secret, ''],
      ['unknown', await live.tokenOf('ada'), ''],
    ]
    const said = []
    for (const [why, token, id] of tries) {
      const told = await enrolling(other, token)
      said.push(saidIn(told))
      const [event, ...more] = await auditOf(told)
      expect(more).toEqual([])
      expect(event).toMatchObject({
        action: 'node.enrol',
        result: 'denied',
        reason_code: 'token_invalid',
        severity: 'high',
        resource_id: id === '' ? null : id,
        metadata: { why },
      })
    }
    expect(new Set(said.map((one) => JSON.stringify(one)))).toEqual(
      new Set([JSON.stringify({ status: 401, code: 'token_invalid', message: said[0]!.message, correlation_id: null })]),
    )
    // The right one still opens what it is for: the others failed for what they are.
    expect((await enrolling(other)).status).toBe(201)
    const certificates = await live.sql('select node_id from node_certificates where node_id = any($1)', [
      [voided.id, expired.id, restored.id, retired.id],
    ])
    expect(certificates).toEqual([])
  })

  test('SG-22 of two that enrol at once with one token, on two replicas, one wins', async () => {
    const second = await live.replica()
    for (let round = 0; round < 5; round += 1) {
      const node = await registeredNode(live)
      const tries = await Promise.all([enrolling(node), enrolling({ ...node, url: second.nodes.url }), enrolling(node)])
      expect(tries.map(({ status }) => status).sort()).toEqual([201, 401, 401])
      expect(await live.sql('select serial from node_certificates where node_id = $1', [node.id])).toHaveLength(1)
    }
  })

  test('SG-22 a node that did not hear the answer asks again with the same key, and has the same certificate; nobody else has', async () => {
    const node = await registeredNode(live)
    const [mine, other] = [await nodeKeys(), await nodeKeys()]
    const ask = (csr: string) => asStranger(node.url, pemOf(node.ca), { enrolment_token: node.token, csr })
    const first = await ask(mine.csr)
    const again = await ask(mine.csr)
    expect([again.status, again.body]).toEqual([201, first.body])
    // Nobody is said to have attacked.
    expect(await auditOf(again)).toMatchObject([{ action: 'node.enrol.repeat', result: 'success', severity: 'info', actor_id: node.id }])
    expect(await live.sql('select serial from node_certificates where node_id = $1', [node.id])).toHaveLength(1)
    const stolen = await ask(other.csr)
    expect(stolen.status).toBe(401)
    expect(await auditOf(stolen)).toMatchObject([{ result: 'denied', severity: 'high', metadata: { why: 'used' } }])
    // Somebody who has only seen the request does not have the key that it is for: he cannot use what he would get. Nor after its time.
    await live.sql(
      `update node_enrolments set created_at = created_at - interval '15 minutes', expires_at = expires_at - interval '15 minutes' where node_id = $1`,
      [node.id],
    )
    expect((await ask(mine.csr)).status).toBe(401)
  })

  test('SG-22 the same key is answered again only while its certificate counts: not after another has enrolled, nor when the node is retired', async () => {
    const ended = ['enrolled anew', 'retired', 'of an earlier epoch'] as const
    for (const how of ended) {
      const node = await registeredNode(live)
      const { csr } = await nodeKeys()
      const ask = () => asStranger(node.url, pemOf(node.ca), { enrolment_token: node.token, csr })
      expect((await ask()).status).toBe(201)
      if (how === 'enrolled anew') {
        const { body } = await live.call('ada', 'POST', `${nodes}/${node.id}/enrolments`, because)
        expect((await ask()).status).toBe(201)
        expect((await enrolling({ ...node, token: body.enrolment_token })).status).toBe(201)
      } else if (how === 'retired') await live.call('ada', 'POST', `${nodes}/${node.id}/retire`, because)
      else await live.sql('update node_enrolments set epoch = epoch + 1 where node_id = $1', [node.id])
      const late = await ask()
      expect([how, late.status]).toEqual([how, 401])
      expect(await auditOf(late)).toMatchObject([{ result: 'denied', severity: 'high' }])
    }
  })

  test('SG-22 the same request many times at once, on two replicas, is one enrolment and one certificate', async () => {
    const second = await live.replica()
    const node = await registeredNode(live)
    const { csr } = await nodeKeys()
    const urls = [node.url, second.nodes.url, node.url, second.nodes.url]
    const tries = await Promise.all(urls.map((url) => asStranger(url, pemOf(node.ca), { enrolment_token: node.token, csr })))
    expect(tries.map(({ status }) => status)).toEqual([201, 201, 201, 201])
    expect(new Set(tries.map(({ body }) => body.certificate)).size).toBe(1)
    const events = (await Promise.all(tries.map(auditOf))).flat()
    expect(events.map(({ action }) => action).sort()).toEqual(['node.enrol', ...Array(3).fill('node.enrol.repeat')])
  })

  test('SG-22 what was enrolled anew takes the place of what there was', async () => {
    const node = await enrolledNode(live)
    const again = await live.call('ada', 'POST', `${nodes}/${node.id}/enrolments`, because)
    expect(again.status).toBe(201)
    const { csr } = await nodeKeys()
    // Until somebody uses it, the token is nothing but an offer.
    expect((await node.call('POST', renewing(node.id), { csr })).status).toBe(201)
    expect((await enrolling({ ...readToken(again.body.enrolment_token), token: again.body.enrolment_token })).status).toBe(201)
    expect((await node.call('POST', renewing(node.id), { csr })).status).toBe(403)
    node.stop()
  })
})

describe('requests for certificates', () => {
  const node = nodeFixture(live)

  const signedWith = { name: 'ECDSA', hash: 'SHA-256' }
  const made = async (algorithm: object, signingAlgorithm: object = signedWith, extensions: InstanceType<typeof x509.Extension>[] = []) => {
    const keys = (await webcrypto.subtle.generateKey(algorithm as webcrypto.EcKeyGenParams, true, [
      'sign',
      'verify',
    ])) as webcrypto.CryptoKeyPair
    return x509.Pkcs10CertificateRequestGenerator.create({ name: 'CN=root', keys, signingAlgorithm: signingAlgorithm as never, extensions })
  }
  const p256 = { name: 'ECDSA', namedCurve: 'P-256' }

  test('SG-22 one that does not prove that the caller has the key gets nothing', async () => {
    const [mine, another] = [await made(p256), await made(p256)]
    // Somebody else's key, and a signature that is none of its.
    const der = Buffer.from(mine.rawData.slice(0))
    const point = Buffer.from(mine.publicKey.rawData).subarray(-64)
    Buffer.from(another.publicKey.rawData).subarray(-64).copy(der, der.indexOf(point))
    const flipped = Buffer.from(mine.rawData.slice(0))
    flipped[flipped.length - 1]! ^= 1
    const pem = (bytes: Buffer) =>
      `-----BEGIN CERTIFICATE REQUEST-----\n${bytes
        .toString('base64')
        .match(/.{1,64}/g)!
        .join('\n')}\n-----END CERTIFICATE REQUEST-----\n`
    for (const csr of [pem(der), pem(flipped)]) {
      const told = await node.call('POST', renewing(node.id), { csr })
      expect(told.body).toMatchObject({ code: 'invalid_csr', details: { reason: 'signature_not_accepted' } })
      expect(told.status).toBe(400)
    }
    expect((await node.call('POST', renewing(node.id), { csr: pem(Buffer.from(mine.rawData)) })).status).toBe(201)
  })

  test.each<[string, () => Promise<string>]>([
    [
      'RSA',
      async () =>
        (
          await made(
            { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
            { name: 'RSASSA-PKCS1-v1_5' },
          )
        ).toString('pem'),
    ],
    ['P-384', async () => (await made({ name: 'ECDSA', namedCurve: 'P-384' })).toString('pem')],
    ['P-256 with SHA-1', async () => (await made(p256, { name: 'ECDSA', hash: 'SHA-1' })).toString('pem')],
    ['a certificate', async () => node.certificate],
    ['two requests', async () => `${(await nodeKeys()).csr}\n${(await nodeKeys()).csr}`],
    ['no text of ours', async () => 'x'.repeat(200)],
    ['cut short', async () => (await nodeKeys()).csr.replace(/\n[A-Za-z0-9+/=]+\n-----END/, '\n-----END')],
    [
      'an Ed25519 key of small order, signed by nobody',
      async () => {
        const good = Buffer.from((await made({ name: 'Ed25519' }, { name: 'Ed25519' })).rawData)
        const spki = good.indexOf(Buffer.from('302a300506032b6570032100', 'hex'))
        good.fill(0, spki + 12, spki + 44)
        good[spki + 12] = 1
        // For the neutral point every signature with S = 0 and this R fits.
        good.fill(0, good.length - 64)
        good[good.length - 64] = 1
        return `-----BEGIN CERTIFICATE REQUEST-----\n${good.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
      },
    ],
  ])('SG-22 one for a key of another kind is refused: %s', async (_, csrOf) => {
    const told = await node.call('POST', renewing(node.id), { csr: await csrOf() })
    expect([told.status, told.body.code]).toEqual([400, 'invalid_csr'])
  })

  test('SG-22 a refused request leaves the token unused', async () => {
    const fresh = await registeredNode(live)
    const csr = (await made({ name: 'ECDSA', namedCurve: 'P-384' })).toString('pem')
    const refused = await asStranger(fresh.url, pemOf(fresh.ca), { enrolment_token: fresh.token, csr })
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_csr'])
    expect((await enrolling(fresh)).status).toBe(201)
  })

  test('SG-22 nothing else in a request counts: neither its name nor what it wants to be', async () => {
    const csr = await made(p256, signedWith, [
      new x509.BasicConstraintsExtension(true, 3, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth], true),
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'url', value: 'gatehouse:node:other' },
      ]),
    ])
    const told = await node.call('POST', renewing(node.id), { csr: csr.toString('pem') })
    const certificate = new X509Certificate(told.body.certificate)
    expect(certificate.ca).toBe(false)
    expect(certificate.subject).toBe(`CN=${node.id}`)
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
    expect(certificate.subjectAltName).toBe(`URI:gatehouse:node:${node.id}`)
  })

  test('SG-22 renewed, the latest two certificates count and the third ends; a key may be of either kind', async () => {
    const renewed = await enrolledNode(live, { key_kind: 'Ed25519' })
    const callers = [renewed as Pick<EnrolledNode, 'call' | 'stop'>]
    for (const kind of ['P-256', 'Ed25519'] as const) {
      const { key, csr } = await nodeKeys(kind)
      const told = await callers.at(-1)!.call('POST', renewing(renewed.id), { csr })
      expect(told.status).toBe(201)
      callers.push(doorCaller(renewed.url, { key, cert: told.body.certificate, ca: renewed.authority }))
    }
    // Asked for something that changes nothing: it is refused for what it says, not for who says it.
    const statuses = []
    for (const { call } of callers) statuses.push((await call('POST', renewing(renewed.id), { csr: 'x'.repeat(100) })).status)
    expect(statuses).toEqual([403, 400, 400])
    for (const { stop } of callers) stop()
  })
})

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
      const told = await b.call('POST', renewing(id), { csr })
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
        return { type: 'node_agent', id: victim.id } satisfies Actor
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
      const told = await b.call('POST', renewing(a.id), { csr: 'x'.repeat(100) }, headers)
      expect([told.status, told.body.details.reason_code]).toEqual([403, 'scope_mismatch'])
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
    const offered = await live.call('ada', 'POST', `${nodes}/${node.id}/enrolments`, because)
    for (const base of bases) expect(shortly(await speak(node, node.id, base))).toEqual(heard)
    const retired = await live.call('ada', 'POST', `${nodes}/${node.id}/retire`, because)
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
    expect((await live.call('ada', 'POST', `${nodes}/${node.id}/retire`, because)).status).toBe(409)
    expect((await live.call('ada', 'POST', `${nodes}/${node.id}/enrolments`, because)).status).toBe(409)
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
    await live.call('ada', 'POST', `${nodes}/${node.id}/retire`, because)
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
        ({ type: 'node_agent', id: /CN=(.*)/.exec(socket.getPeerX509Certificate()!.subject)![1]! }) satisfies Actor,
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
    await live.call('ada', 'POST', `${nodes}/${node.id}/retire`, because)
    const last = await connected(node, sessions[0] ? { session: sessions[0] } : {})
    expect(await said(last)).toMatch(/^HTTP\/1.1 403 .*membership_missing/s)
    last.destroy()
    node.stop()
  })
})

describe('nodes as the platform sees them', () => {
  test('SG-22 who may register, read and end nodes: the platform’s administrators, those who operate it by reading, nobody else', async () => {
    const body = { name: 'by-whom', region: 'eu-1', sku: 'h100', gpus: 8 }
    for (const person of ['otto', 'alice', 'amara'])
      expect([person, (await live.call(person, 'POST', nodes, { body })).status]).toEqual([person, 403])
    const made = await live.call('ada', 'POST', nodes, { body })
    expect(made.status).toBe(201)
    expect(made.body.node).toMatchObject({ ...body, status: 'unavailable', enrolled_at: null, last_seen_at: null, gpus_taken: 0 })
    const { id } = made.body.node
    expect((await live.call('grace', 'POST', nodes, { body })).body.code).toBe('node_already_exists')
    expect((await live.call('otto', 'GET', `${nodes}/${id}`)).status).toBe(200)
    expect((await live.call('alice', 'GET', `${nodes}/${id}`)).status).toBe(403)
    expect((await live.call('ada', 'GET', `${nodes}/00000000-0000-7000-8000-000000000000`)).body.code).toBe('node_not_found')
    const listed = await live.call('otto', 'GET', `${nodes}?limit=200`)
    expect(listed.body.items.map((node: { id: string }) => node.id)).toContain(id)
    expect((await live.call('alice', 'GET', nodes)).status).toBe(403)
    for (const verb of ['drain', 'undrain', 'retire', 'enrolments'])
      expect([verb, (await live.call('otto', 'POST', `${nodes}/${id}/${verb}`, because)).status]).toEqual([verb, 403])
    expect((await live.call('ada', 'POST', `${nodes}/${id}/undrain`, because)).body.code).toBe('state_conflict')
    expect((await live.call('ada', 'POST', `${nodes}/${id}/drain`, because)).body.status).toBe('drained')
    expect((await live.call('ada', 'POST', `${nodes}/${id}/drain`, because)).body.code).toBe('state_conflict')
    expect((await live.call('ada', 'POST', `${nodes}/${id}/undrain`, because)).body.status).toBe('unavailable')
    expect((await live.call('ada', 'POST', `${nodes}/${id}/retire`, because)).body.status).toBe('retired')
    // The name is free again.
    expect((await live.call('ada', 'POST', nodes, { body })).status).toBe(201)
    const told = await live.sql<{ action: string }>(
      `select action from audit_logs where resource_type = 'node' and resource_id = $1 and result = 'success' order by seq`,
      [id],
    )
    expect(told.map(({ action }) => action)).toEqual(['node.create', 'node.drain', 'node.undrain', 'node.retire'])
  })

  test('SG-22 a node that has not asked for 90 seconds is unavailable, and is back with its next request', async () => {
    const node = await enrolledNode(live)
    const statusOf = async () => (await live.call('otto', 'GET', `${nodes}/${node.id}`)).body.status
    expect(await statusOf()).toBe('active')
    await live.sql(`update nodes set last_seen_at = now() - interval '91 seconds' where id = $1`, [node.id])
    expect(await statusOf()).toBe('unavailable')
    await node.call('POST', renewing(node.id), { csr: 'x'.repeat(100) })
    expect(await statusOf()).toBe('active')
    node.stop()
  })

  test('SG-22 a token is shown once: asked again with the same key it is named and not shown', async () => {
    const body = { name: 'shown-once', region: 'eu-1', sku: 'h100', gpus: 8 }
    const headers = { 'idempotency-key': 'shown-once' }
    const made = await live.call('ada', 'POST', nodes, { body, headers })
    const again = await live.call('ada', 'POST', nodes, { body, headers })
    expect([again.status, again.body.code]).toEqual([409, 'credential_already_issued'])
    expect(again.body.details.credential_session_id).toBe(made.body.credential_session_id)
    expect(again.text).not.toContain('ghne_')
  })

  test('TI-18 SG-22 a token or a private key where it does not belong is refused, and the token stays good', async () => {
    const { token: enrolment_token, url, ca } = await registeredNode(live)
    const { key, csr } = await nodeKeys()
    const { call, stop } = doorCaller(url, { ca: pemOf(ca) })
    const ask = async (body: unknown, query = '', headers = {}) => (await call('POST', `${enrol}${query}`, body, headers)).status
    expect([
      await ask({ enrolment_token, csr: key }),
      await ask({ enrolment_token, csr, agent_version: '1' }, `?enrolment_token=${enrolment_token}`),
      await ask({ enrolment_token, csr, surprise: enrolment_token }),
      await ask({ enrolment_token, csr }, '', { 'idempotency-key': enrolment_token.slice(0, 100) }),
      await ask({ enrolment_token: `${enrolment_token}x`, csr }),
      await ask({ enrolment_token, csr }),
    ]).toEqual([400, 400, 400, 400, 401, 201])
    stop()
  })

  test('TI-18 SG-22 neither a token nor its secret nor a private key is in any table', async () => {
    const node = await registeredNode(live)
    await enrolling(node)
    await enrolling(node)
    const strayed = await live.call('ada', 'POST', `${nodes}/${node.id}/drain`, { body: { reason: `it was ${node.token}` } })
    expect([strayed.status, strayed.body.code]).toEqual([400, 'validation_error'])
    const tables = await live.sql<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`)
    const tablesWith = async (text: string) => {
      const found: string[] = []
      for (const { name } of tables)
        if ((await live.sql<{ row: string }>(`select t::text as row from ${name} t`)).some(({ row }) => row.includes(text)))
          found.push(name)
      return found
    }
    // The search finds what is there, also what is kept as bytes.
    expect(await tablesWith(node.id)).toContain('nodes')
    expect(await tablesWith(createHash('sha256').update(node.secret).digest('hex'))).toEqual(['node_enrolments'])
    const as_bytes = [Buffer.from(node.secret), Buffer.from(node.secret, 'base64url')].map((bytes) => bytes.toString('hex'))
    for (const secret of [node.secret, ...as_bytes, node.token.slice(0, 60), 'PRIVATE KEY'])
      expect([secret, await tablesWith(secret)]).toEqual([secret, []])
  })
})

describe('the authority', () => {
  test('SG-22 processes that start together have one, and it is sealed anew with everything else', async () => {
    const other = await liveServer()
    try {
      await other.sql('delete from node_authorities')
      const ring = parseKeyRing(testKeys)
      const append = appendWith({ region: 'test', key: await auditKey(other.database, ring) })
      const made = await Promise.all([1, 2, 3, 4].map(() => ensureAuthority(other.database, ring, append)))
      expect(new Set(made.map(({ certificate_pem }) => certificate_pem)).size).toBe(1)
      expect(await other.sql('select id from node_authorities')).toHaveLength(1)
      const later = parseKeyRing(`later:${'n'.repeat(43)},${testKeys}`)
      const counts = await rewrap(other.database, later, envelopeColumns, append)
      expect(counts['node_authorities.envelope']).toBe(1)
      const alone = parseKeyRing(`later:${'n'.repeat(43)}`)
      const { certificate_pem } = await ensureAuthority(other.database, alone, append)
      expect(certificate_pem).toBe(made[0]!.certificate_pem)
      await expect(ensureAuthority(other.database, ring, append)).rejects.toThrow('later')
    } finally {
      await other.stop()
    }
  })

  test('SG-22 a signer’s certificate is no node’s and no door’s', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const pem = await issueSignerCertificate(live.nodes.authority, publicKey, 'k'.repeat(43), new Date().toISOString())
    const certificate = new X509Certificate(pem)
    expect(certificate.keyUsage).toEqual(['2.25.320883220226239987218839198565150928914'])
    expect(certificate.verify(live.nodes.authority.public_key)).toBe(true)
    const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const { call, stop } = doorCaller(live.nodes.url, { key, cert: pem, ca: live.nodes.authority.certificate_pem })
    const told = await call('POST', renewing('00000000-0000-7000-8000-000000000000'), { csr: 'x'.repeat(100) })
    expect([told.status, told.body.details.reason_code]).toEqual([403, 'membership_missing'])
    stop()
  })
})
