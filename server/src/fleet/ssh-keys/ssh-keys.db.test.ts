import { randomBytes } from 'node:crypto'
import { createSshKey, listProjectSshKeys, listSshKeys } from '@gatehouse/contract/ssh-keys'
import { describe, expect, test } from 'vitest'
import type { Work } from '#ground/work/work.ts'
import { tablesOf } from '../../../../test/canaries/corpora.ts'
import { crowdFixture } from '../../../../test/crowd.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'
import { hostileTexts, privateKeyTexts } from '../../../../test/ssh-hostile-texts.ts'
import { keyLine, newKeyLine, rsaFields } from '../../../../test/ssh-key-lines.ts'
import type { EndedKey } from './ssh-key.ts'
import { sshKeyRoutes } from './ssh-key-routes.ts'

/** What a room above is told when a key ends, and what it then does. */
const told: { key: EndedKey; reason: string; is_ended: boolean }[] = []
let refusing = false
const above = async (work: Work, key: EndedKey, reason: string) => {
  const statement = {
    name: 'ended',
    text: 'select deleted_at from ssh_public_keys where id = $1',
    values: [key.id],
    parse: (row: unknown) => row,
  }
  const [row] = (await work.tx.many(statement)) as { deleted_at: string | null }[]
  told.push({ key, reason, is_ended: row?.deleted_at != null })
  if (refusing) throw new Error('the room above cannot')
}

const mine = sshKeyRoutes({ onSshKeyDeleted: [above] })
const live = serverFixture({
  parts: (parts) => ({
    ...parts,
    answers: parts.answers.map((each) => mine.find(({ operation }) => operation.id === each.operation.id) ?? each),
  }),
  policies: noRateLimits,
})
const people = crowdFixture(live, 4)

const { org, project, user } = seeded
const nobody = '01890000-0000-7000-8000-000000000000'
const own = '/api/v1/ssh-keys'
const training = `/api/v1/projects/${project.aurora}/ssh-keys`
const name = 'Laptop'
const register = (person: string | null, at = own, public_key: unknown = newKeyLine(), headers: Record<string, string> = {}) =>
  live.call(person, 'POST', at, { body: { name, public_key }, headers })
const made = async (person: string, at = own, line = newKeyLine()): Promise<Answered['body']> => {
  const { status, body } = await register(person, at, line)
  expect([status, body]).toEqual([201, expect.anything()])
  return body
}
const remove = (person: string | null, id: string, at = own, body: object = { reason: 'lost' }, headers: Record<string, string> = {}) =>
  live.call(person, 'DELETE', `${at}/${id}`, { body, headers })
const idsOf = ({ body }: Answered): string[] => body.items.map(({ id }: { id: string }) => id)
const count = async () => (await live.sql<{ n: number }>('select count(*)::int as n from ssh_public_keys'))[0]!.n
/** But for the id of the request. */
const bytesOf = ({ status, text, headers }: Answered) => [status, text.replaceAll(headers.get('x-request-id')!, 'ID')]

describe('keys of one’s own', () => {
  test('SG-14 are registered, listed and deleted by whoever they are of; the comment is not kept', async () => {
    const line = newKeyLine()
    const [type, blob] = line.split(' ') as [string, string]
    const { status, body } = await register('asha', own, line, { 'x-request-id': 'ssh-key-made' })
    expect(status).toBe(201)
    expect(body).toEqual({
      ...{
        id: expect.any(String),
        name,
        key_type: type,
        bits: 256,
        fingerprint: expect.stringMatching(/^SHA256:/),
        created_at: expect.any(String),
      },
      ...{ user_id: user('asha'), project_id: null, public_key: `${type} ${blob}` },
    })
    expect((await live.ask('asha', listSshKeys)).body.items).toContainEqual(body)
    expect(await live.auditOf('ssh-key-made')).toMatchObject([
      {
        action: 'ssh_key.create',
        resource_type: 'ssh_key',
        resource_id: body.id,
        actor_id: user('asha'),
        tenant_id: null,
        metadata: { fingerprint: body.fingerprint, key_type: type, bits: 256 },
      },
    ])
    expect((await remove('asha', body.id, own, { reason: 'lost' }, { 'x-request-id': 'ssh-key-ended' })).status).toBe(204)
    expect(idsOf(await live.ask('asha', listSshKeys))).not.toContain(body.id)
    expect(await live.auditOf('ssh-key-ended')).toMatchObject([
      { action: 'ssh_key.delete', resource_id: body.id, metadata: { fingerprint: body.fingerprint, reason: 'lost' } },
    ])
    const [row] = await live.sql('select * from ssh_public_keys where id = $1', [body.id])
    expect(row).toMatchObject({ deleted_by: user('asha'), delete_reason: 'lost' })
    expect(JSON.stringify([row, await live.auditOf('ssh-key-made')])).not.toContain('somebody@laptop')
  })

  test('SG-02 another’s key, one that is deleted and one that never was are told alike, and nothing happens to it', async () => {
    const hers = await made('amara')
    const gone = await made('asha')
    await remove('asha', gone.id)
    const automation = await made('asha', training)
    const answers = await Promise.all([hers.id, gone.id, automation.id, nobody].map((id) => remove('asha', id)))
    for (const answer of answers) expect(bytesOf(answer)).toEqual(bytesOf(answers[3]!))
    expect(answers[0]).toMatchObject({ status: 404, body: { code: 'ssh_key_not_found' } })
    expect(idsOf(await live.ask('amara', listSshKeys))).toContain(hers.id)
    expect(idsOf(await live.ask('asha', listProjectSshKeys, { params: { project_id: project.aurora } }))).toContain(automation.id)
    expect(idsOf(await live.ask('asha', listSshKeys))).not.toContain(hers.id)
    // Not even for those who may do everything.
    expect((await remove('ada', hers.id)).status).toBe(404)
  })

  test('SG-14 one key is registered once for each owner, and anew when it was deleted', async () => {
    const line = newKeyLine()
    const key = await made('axel', own, line)
    expect(await register('axel', own, `${line.split(' ').slice(0, 2).join(' ')} another comment`)).toMatchObject({
      status: 409,
      body: { code: 'ssh_key_already_exists' },
    })
    await made('aldo', own, line)
    await made('aldo', training, line)
    expect((await register('asha', training, line)).body.code).toBe('ssh_key_already_exists')
    await remove('axel', key.id)
    await made('axel', own, line)
  })

  test('SG-14 of two at once one is registered', async () => {
    for (const [person, at] of [
      ['anna', own],
      ['amara', training],
    ] as const) {
      const line = newKeyLine()
      const answers = await Promise.all(Array.from({ length: 6 }, () => register(person, at, line)))
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    }
  })

  test('HO-08 the same idempotency key gives the same key again', async () => {
    const line = newKeyLine()
    const headers = { 'idempotency-key': 'once' }
    const first = await register('arne', own, line, headers)
    const again = await register('arne', own, line, headers)
    expect([again.status, again.body]).toEqual([201, first.body])
    expect(idsOf(await live.ask('arne', listSshKeys))).toHaveLength(1)
  })

  test('SG-14 no more than policy allows, however many come at once', async () => {
    await live.setPolicy('access.max_ssh_keys', 3)
    try {
      for (const [person, at] of [
        [people[0]!.subject, own],
        ['berta', `/api/v1/projects/${project.borealis}/ssh-keys`],
      ] as const) {
        const answers = await Promise.all(Array.from({ length: 8 }, () => register(person, at)))
        expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409, 409, 409])
        const full = await register(person, at)
        expect(full).toMatchObject({ status: 409, body: { code: 'limit_reached', details: { policy: 'access.max_ssh_keys', limit: 3 } } })
        // Before anything is asked of a key that costs: there is no room for it whatever it is.
        const weak = await register(person, at, keyLine('ssh-rsa', rsaFields(65_537n, 3n * 2n ** 2050n + 3n)))
        expect(weak.body.code).toBe('limit_reached')
        const [first] = idsOf(await live.call(person, 'GET', at))
        expect((await remove(person, first!, at)).status).toBe(204)
        expect((await register(person, at)).status).toBe(201)
      }
    } finally {
      await live.setPolicy('access.max_ssh_keys', 50)
    }
  })

  test('SG-14 a list goes on where it stopped', async () => {
    const { subject } = people[1]!
    const all = [await made(subject), await made(subject), await made(subject)].map(({ id }) => id)
    const first = await live.ask(subject, listSshKeys, { query: { limit: 2 } })
    const second = await live.ask(subject, listSshKeys, { query: { limit: 2, cursor: first.body.next_cursor! } })
    expect([...idsOf(first), ...idsOf(second)]).toEqual(all)
    expect(second.body.next_cursor).toBeNull()
  })

  test('SG-05 no machine has keys of its own', async () => {
    const { mint } = await machineOn(live.sql, { org_id: org.aurora, project_id: project.aurora })
    const { token } = await mint()
    const headers = { authorization: `Bearer ${token}` }
    for (const [method, path] of [
      ['GET', own],
      ['POST', own],
      ['DELETE', `${own}/${nobody}`],
    ] as const) {
      const body = method === 'GET' ? {} : { body: method === 'POST' ? { name, public_key: newKeyLine() } : {} }
      expect((await live.call(null, method, path, { ...body, headers })).status).toBe(403)
    }
  })

  test('SG-11 a disabled person registers none', async () => {
    const { subject, id } = people[2]!
    await live.sql(`update users set disabled_at = now(), disabled_by = $2, disable_reason = 'x' where id = $1`, [id, user('ada')])
    expect(await register(subject)).toMatchObject({ status: 403, body: { details: { reason_code: 'actor_disabled' } } })
  })
})

describe('keys of a project’s automation', () => {
  test('SG-05 a service account registers, lists and deletes them, as members do', async () => {
    const { account_id, mint } = await machineOn(live.sql, { org_id: org.aurora, project_id: project.aurora })
    const scope = ['project.ssh_key.read', 'project.ssh_key.manage']
    const { token } = await mint({ claims: { scope: scope.join(' ') }, row: { scope: `'{${scope.join(',')}}'` } })
    const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'machine-key' }
    const { status, body } = await register(null, training, newKeyLine(), headers)
    expect([status, body.project_id, body.user_id]).toEqual([201, project.aurora, null])
    expect(idsOf(await live.ask(null, listProjectSshKeys, { params: { project_id: project.aurora }, headers }))).toContain(body.id)
    expect(await live.auditOf('machine-key')).toMatchObject([
      {
        action: 'project.ssh_key.create',
        actor_type: 'service_account',
        actor_id: account_id,
        tenant_id: org.aurora,
        project_id: project.aurora,
      },
    ])
    const [row] = await live.sql('select created_by_type, created_by from ssh_public_keys where id = $1', [body.id])
    expect(row).toEqual({ created_by_type: 'service_account', created_by: account_id })
    expect((await remove(null, body.id, training, {}, headers)).status).toBe(204)
    // Its own project's, and no other's.
    const elsewhere = `/api/v1/projects/${project.borealis}/ssh-keys`
    for (const answer of [
      await live.ask(null, listProjectSshKeys, { params: { project_id: project.borealis }, headers }),
      await register(null, elsewhere, newKeyLine(), headers),
    ])
      expect(answer).toMatchObject({ status: 403, body: { details: { reason_code: 'scope_mismatch' } } })
  })

  test('SG-05 members of the project manage them, viewers read them, others are refused, strangers find no project', async () => {
    const { id } = await made('amara', training)
    expect(idsOf(await live.ask('axel', listProjectSshKeys, { params: { project_id: project.aurora } }))).toContain(id)
    for (const person of ['axel', 'anna', 'alice']) {
      expect([person, (await register(person, training)).status]).toEqual([person, 403])
      expect([person, (await remove(person, id, training)).status]).toEqual([person, 403])
    }
    const strange = await Promise.all([training, `/api/v1/projects/${nobody}/ssh-keys`].map((at) => register('bella', at)))
    expect(bytesOf(strange[0]!)).toEqual(bytesOf(strange[1]!))
    expect(strange[0]).toMatchObject({ status: 404, body: { code: 'project_not_found' } })
    expect((await live.ask('bella', listProjectSshKeys, { params: { project_id: project.aurora } })).status).toBe(404)
    expect((await remove('bella', id, training)).status).toBe(404)
    // Override reads, and installs nothing.
    expect((await live.ask('ada', listProjectSshKeys, { params: { project_id: project.aurora } })).status).toBe(200)
    expect((await register('ada', training)).status).toBe(403)
    expect((await remove('asha', id, training)).status).toBe(204)
  })

  test('SG-02 a key of another project, or a person’s, is none of this project', async () => {
    const theirs = await made('berta', `/api/v1/projects/${project.borealis}/ssh-keys`)
    const personal = await made('asha')
    const answers = await Promise.all([theirs.id, personal.id, nobody].map((id) => remove('asha', id, training)))
    for (const answer of answers) expect(bytesOf(answer)).toEqual(bytesOf(answers[2]!))
    expect(answers[0]).toMatchObject({ status: 404, body: { code: 'ssh_key_not_found' } })
  })

  test('SG-05 none is added where the project is archived', async () => {
    await live.sql(`update projects set state = 'archived' where id = $1`, [project.aurora])
    try {
      expect((await register('asha', training)).status).toBe(403)
      expect((await live.ask('asha', listProjectSshKeys, { params: { project_id: project.aurora } })).status).toBe(200)
    } finally {
      await live.sql(`update projects set state = 'active' where id = $1`, [project.aurora])
    }
  })
})

describe('the end of a key', () => {
  test('SG-11 is told to the rooms above in the same transaction', async () => {
    told.length = 0
    const personal = await made('asha')
    const automation = await made('asha', training)
    await remove('asha', personal.id)
    await remove('asha', automation.id, training, {})
    expect(told).toEqual([
      {
        key: { id: personal.id, user_id: user('asha'), project_id: null, fingerprint: personal.fingerprint },
        reason: 'lost',
        is_ended: true,
      },
      {
        key: { id: automation.id, user_id: null, project_id: project.aurora, fingerprint: automation.fingerprint },
        reason: 'deleted',
        is_ended: true,
      },
    ])
  })

  test('SG-11 does not happen where one of them cannot', async () => {
    const { id } = await made('asha')
    refusing = true
    try {
      expect((await remove('asha', id, own, {}, { 'x-request-id': 'not-ended' })).status).toBe(500)
    } finally {
      refusing = false
    }
    expect(idsOf(await live.ask('asha', listSshKeys))).toContain(id)
    expect(await live.auditOf('not-ended')).toEqual([])
    expect((await remove('asha', id)).status).toBe(204)
  })

  test('SG-11 of two who end it at once one does', async () => {
    const { id } = await made('asha')
    const answers = await Promise.all(Array.from({ length: 4 }, () => remove('asha', id)))
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404])
  })
})

describe('a text that is no key', () => {
  test('SG-14 S1 S2 is refused as such, whatever it is, with a word of ours and nothing stored', async () => {
    const before = await count()
    // Of what differs by a character or a bit only some: the reader has been shown them all.
    const texts = hostileTexts().filter(({ what }, at) => !/^U\+|cut off|with bit/.test(what) || at % 7 === 0)
    expect(texts.length).toBeGreaterThan(400)
    const wrong: string[] = []
    for (const [at, { what, text }] of texts.entries()) {
      const answer = await register(at % 2 === 0 ? 'asha' : 'aldo', at % 2 === 0 ? own : training, text)
      const { code, details } = answer.body
      const isTold =
        answer.status === 400 && code === 'invalid_key' && /^[a-z0-9_]+$/.test(details.reason) && Object.keys(details).length === 1
      if (!isTold) wrong.push(`${what}: ${answer.status} ${code}`)
      if (text.length > 60 && answer.text.includes(text.slice(20, 60))) wrong.push(`${what}: it is said back`)
    }
    expect(wrong).toEqual([])
    expect(await count()).toBe(before)
  })

  test('SG-14 S1 a body beyond all bounds is not read', async () => {
    expect((await register('asha', own, 'A'.repeat(1_000_000))).status).toBe(413)
  })

  test.for([[null], [7], [{}], [[]], [{ kty: 'OKP', d: 'x' }], [['ssh-ed25519']]])('SG-14 %j does not fit the schema', async ([value]) => {
    expect(await register('asha', own, value)).toMatchObject({
      status: 400,
      body: { code: 'validation_error', details: { fields: [{ in: 'body', field: 'public_key' }] } },
    })
  })

  test('SG-14 S2 HO-08 a pasted private key is found in no table, no line of the log and no answer, also with an idempotency key', async () => {
    const lines: string[] = []
    const { url } = await live.replica((parts) => ({
      ...parts,
      logger: { level: 'trace', stream: { write: (line: string) => lines.push(line) } } as never,
    }))
    const secret = randomBytes(30).toString('base64url').replaceAll(/[-_]/g, 'x')
    for (const { text } of privateKeyTexts(secret)) {
      const headers = { 'idempotency-key': randomBytes(8).toString('hex') }
      const answer = await live.ask('asha', createSshKey, { body: { name, public_key: text }, headers, base: url })
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_key', details: { detail: 'private_key' } } })
      expect(answer.text).not.toContain(secret)
    }
    const spellings = [secret, Buffer.from(secret).toString('base64').slice(4, -4), Buffer.from(secret).toString('hex')]
    const foundIn = async () => {
      const places = [...(await tablesOf(live.sql)), ['the log', Buffer.from(lines.join(''))] as const]
      return places.filter(([, bytes]) => spellings.some((text) => bytes.includes(text))).map(([place]) => place)
    }
    expect(await foundIn()).toEqual([])
    // The search finds what is there, and there was a log.
    expect(lines.filter((line) => line.includes('invalid_key')).length).toBeGreaterThan(0)
    await live.ask('asha', createSshKey, { body: { name: secret, public_key: newKeyLine() }, base: url })
    expect(await foundIn()).toContain('table ssh_public_keys')
  })

  test('SG-14 a private key as the name or the reason is refused too', async () => {
    const [pem] = privateKeyTexts()
    const texts = [...privateKeyTexts().map(({ text }) => ({ reason: text.replaceAll('\n', ' ') })), { name: pem!.text.split('\n')[0]! }]
    for (const text of texts) {
      const { status, body } = await live.ask('asha', createSshKey, { body: { name, public_key: newKeyLine(), ...text } })
      expect([status, body.code, body.details?.fields?.[0]?.message]).toEqual([400, 'validation_error', 'holds a secret'])
    }
  })
})
