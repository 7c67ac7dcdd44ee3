import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { createNode, drainNode, listNodes, readNode, renewCertificate, retireNode, undrainNode } from '@gatehouse/contract/nodes'
import { describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { rewrap } from '#ground/installation/rewrap.ts'
import { appendWith } from '#rails/audit/append.ts'
import { doorCaller, enrolledNode, nodeKeys, pemOf, registeredNode } from '../../../../test/enrolled-node.ts'
import { because, enrol, enrolling, nodes, renewing } from '../../../../test/enrolment-scene.ts'
import { liveServer, serverFixture, testKeys } from '../../../../test/live-server.ts'
import { envelopeColumns } from '../../rooms.ts'
import { ensureAuthority } from './authority.ts'
import { issueSignerCertificate } from './issue-certificate.ts'

const live = serverFixture()

describe('nodes as the platform sees them', () => {
  test('SG-22 who may register, read and end nodes: the platform’s administrators, those who operate it by reading, nobody else', async () => {
    const body = { name: 'by-whom', region: 'eu-1', sku: 'h100', gpus: 8 }
    for (const person of ['otto', 'alice', 'amara'])
      expect([person, (await live.ask(person, createNode, { body })).status]).toEqual([person, 403])
    const made = await live.ask('ada', createNode, { body })
    expect(made.status).toBe(201)
    expect(made.body.node).toMatchObject({ ...body, status: 'unavailable', enrolled_at: null, last_seen_at: null, gpus_taken: 0 })
    const { id } = made.body.node
    expect((await live.ask('grace', createNode, { body })).body.code).toBe('node_already_exists')
    expect((await live.ask('otto', readNode, { params: { node_id: id } })).status).toBe(200)
    expect((await live.ask('alice', readNode, { params: { node_id: id } })).status).toBe(403)
    expect((await live.ask('ada', readNode, { params: { node_id: '00000000-0000-7000-8000-000000000000' } })).body.code).toBe(
      'node_not_found',
    )
    const listed = await live.ask('otto', listNodes, { query: { limit: 200 } })
    expect(listed.body.items.map((node: { id: string }) => node.id)).toContain(id)
    expect((await live.ask('alice', listNodes)).status).toBe(403)
    for (const verb of ['drain', 'undrain', 'retire', 'enrolments'])
      expect([verb, (await live.call('otto', 'POST', `${nodes}/${id}/${verb}`, because)).status]).toEqual([verb, 403])
    expect((await live.ask('ada', undrainNode, { params: { node_id: id }, ...because })).body.code).toBe('state_conflict')
    expect((await live.ask('ada', drainNode, { params: { node_id: id }, ...because })).body.status).toBe('drained')
    expect((await live.ask('ada', drainNode, { params: { node_id: id }, ...because })).body.code).toBe('state_conflict')
    expect((await live.ask('ada', undrainNode, { params: { node_id: id }, ...because })).body.status).toBe('unavailable')
    expect((await live.ask('ada', retireNode, { params: { node_id: id }, ...because })).body.status).toBe('retired')
    // The name is free again.
    expect((await live.ask('ada', createNode, { body })).status).toBe(201)
    const told = await live.sql<{ action: string }>(
      `select action from audit_logs where resource_type = 'node' and resource_id = $1 and result = 'success' order by seq`,
      [id],
    )
    expect(told.map(({ action }) => action)).toEqual(['node.create', 'node.drain', 'node.undrain', 'node.retire'])
  })

  test('SG-22 a node that has not asked for 90 seconds is unavailable, and is back with its next request', async () => {
    const node = await enrolledNode(live)
    const statusOf = async () => (await live.ask('otto', readNode, { params: { node_id: node.id } })).body.status
    expect(await statusOf()).toBe('active')
    await live.sql(`update nodes set last_seen_at = now() - interval '91 seconds' where id = $1`, [node.id])
    expect(await statusOf()).toBe('unavailable')
    await node.ask(renewCertificate, { params: { node_id: node.id }, body: { csr: 'x'.repeat(100) } })
    expect(await statusOf()).toBe('active')
    node.stop()
  })

  test('SG-22 a token is shown once: asked again with the same key it is named and not shown', async () => {
    const body = { name: 'shown-once', region: 'eu-1', sku: 'h100', gpus: 8 }
    const headers = { 'idempotency-key': 'shown-once' }
    const made = await live.ask('ada', createNode, { body, headers })
    const again = await live.ask('ada', createNode, { body, headers })
    expect([again.status, again.body.code]).toEqual([409, 'credential_already_issued'])
    expect(again.body.details!.credential_session_id).toBe(made.body.credential_session_id)
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
    const strayed = await live.ask('ada', drainNode, { params: { node_id: node.id }, body: { reason: `it was ${node.token}` } })
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
