import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { enrolNodeAgain, readNode, renewCertificate, retireNode } from '@gatehouse/contract/nodes'
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
} from '../../../../test/enrolled-node.ts'
import { asStranger, because, enrolling, renewing, saidIn } from '../../../../test/enrolment-scene.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { x509 } from './x509.ts'

const live = serverFixture()

const auditOf = async (told: Told) => live.auditOf(String(told.headers['x-correlation-id']))

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
    const read = await live.ask('otto', readNode, { params: { node_id: node.id } })
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
    expect((await live.ask('ada', enrolNodeAgain, { params: { node_id: voided.id }, ...because })).status).toBe(201)
    await live.sql(
      `update node_enrolments set created_at = created_at - interval '15 minutes', expires_at = expires_at - interval '15 minutes' where node_id = $1`,
      [expired.id],
    )
    await live.sql('update installation set epoch = epoch + 1')
    await live.sql('update node_enrolments set epoch = epoch + 1 where node_id <> $1', [restored.id])
    expect((await live.ask('ada', retireNode, { params: { node_id: retired.id }, ...because })).status).toBe(200)
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
        const { body } = await live.ask('ada', enrolNodeAgain, { params: { node_id: node.id }, ...because })
        expect((await ask()).status).toBe(201)
        expect((await enrolling({ ...node, token: body.enrolment_token })).status).toBe(201)
      } else if (how === 'retired') await live.ask('ada', retireNode, { params: { node_id: node.id }, ...because })
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
    const again = await live.ask('ada', enrolNodeAgain, { params: { node_id: node.id }, ...because })
    expect(again.status).toBe(201)
    const { csr } = await nodeKeys()
    // Until somebody uses it, the token is nothing but an offer.
    expect((await node.ask(renewCertificate, { params: { node_id: node.id }, body: { csr } })).status).toBe(201)
    expect((await enrolling({ ...readToken(again.body.enrolment_token), token: again.body.enrolment_token })).status).toBe(201)
    expect((await node.ask(renewCertificate, { params: { node_id: node.id }, body: { csr } })).status).toBe(403)
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
      const told = await node.ask(renewCertificate, { params: { node_id: node.id }, body: { csr } })
      expect(told.body).toMatchObject({ code: 'invalid_csr', details: { detail: 'signature_not_accepted' } })
      expect(told.status).toBe(400)
    }
    expect((await node.ask(renewCertificate, { params: { node_id: node.id }, body: { csr: pem(Buffer.from(mine.rawData)) } })).status).toBe(
      201,
    )
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
    const told = await node.ask(renewCertificate, { params: { node_id: node.id }, body: { csr: await csrOf() } })
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
    const told = await node.ask(renewCertificate, { params: { node_id: node.id }, body: { csr: csr.toString('pem') } })
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
