import { listUsers } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { Secret } from '#ground/kernel/secret.ts'
import { pathOf, rightfulCalls } from '../../../../test/fuzz/rightful-calls.ts'
import { writeTargets } from '../../../../test/fuzz/write-targets.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { sealedCursors } from './cursor.ts'

const live = serverFixture({ policies: noRateLimits }, async (live) => {
  await writeTargets(live.sql)
  await live.sql(`insert into users (id, username, oidc_issuer, oidc_subject, created_at)
    select gen_random_uuid(), 'crowd-' || n, 'https://crowd.example', 'crowd-' || n, now() from generate_series(1, 210) n`)
})

const { org } = seeded

/** Machines have lists of their own, which are proved where those are. */
const isPeoplesList = ({ operation: { is_paged, actors } }: (typeof rightfulCalls)[number]) => is_paged && actors.includes('user')

describe('lists', () => {
  const page = (person: string, query: string, path = '/api/v1/admin/users') => live.call(person, 'GET', `${path}?${query}`)

  test('HO-04 limit is 1 to 200, 50 if not given, and every list is a page', async () => {
    expect((await page('ada', '')).body.items).toHaveLength(50)
    for (const size of [1, 2, 200]) expect((await page('ada', `limit=${size}`)).body.items).toHaveLength(size)
    for (const wrong of [
      '0',
      '201',
      '-1',
      '1.5',
      'abc',
      '',
      'NaN',
      '1e9',
      '[]',
      '5&limit=6',
      '99999999999999999999',
      'Infinity',
      '-Infinity',
      '1e999',
      '1e2',
      '0x10',
      '05',
      '+5',
      ' 5',
    ]) {
      const refused = await page('ada', `limit=${wrong}`)
      expect(refused).toMatchObject({
        status: 400,
        body: { code: 'validation_error', details: { fields: [{ in: 'query', field: 'limit' }] } },
      })
    }
    for (const { operation, person, params, query = '' } of rightfulCalls.filter(isPeoplesList)) {
      const { status, body } = await page(person, `limit=200&${query}`, pathOf(operation.path, params))
      expect(status).toBe(200)
      expect(Object.keys(body)).toEqual(['items', 'next_cursor'])
      if (body.items.length < 200) expect(body.next_cursor).toBeNull()
    }
  })

  test('HO-04 the order is stable: whoever pages while rows are added sees each old row once and no row twice', async () => {
    const before = await live.sql<{ id: string }>('select id from users order by id')
    const seen: string[] = []
    let cursor = ''
    for (let round = 0; ; round += 1) {
      const { body } = await page('ada', `limit=23${cursor}`)
      seen.push(...body.items.map(({ id }: { id: string }) => id))
      if (body.next_cursor === null) break
      cursor = `&cursor=${body.next_cursor}`
      await live.sql(
        `insert into users (id, username, oidc_issuer, oidc_subject, created_at)
         select gen_random_uuid(), 'late', 'https://late.example', $1 || '-' || n, now() from generate_series(1, 5) n`,
        [`${round}`],
      )
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual([...seen].sort())
    expect(before.filter(({ id }) => !seen.includes(id))).toEqual([])
    expect(seen.length).toBeGreaterThan(before.length)
  })

  test('HO-04 a cursor fits its caller, operation and path only; the page may change its size', async () => {
    const { body } = await page('ada', 'limit=3')
    const cursor = `cursor=${body.next_cursor}`
    const invalid = { status: 400, body: { code: 'cursor_invalid' } }
    expect((await page('ada', `limit=7&${cursor}`)).body.items).toHaveLength(7)
    expect(await page('grace', `limit=3&${cursor}`)).toMatchObject(invalid)
    expect(await page('ada', cursor, '/api/v1/orgs')).toMatchObject(invalid)
    const members = (id: string) => `/api/v1/orgs/${id}/members`
    const own = await page('ada', 'limit=2', members(org.aurora))
    expect(own.body.next_cursor).not.toBeNull()
    expect((await page('ada', `cursor=${own.body.next_cursor}`, members(org.aurora))).status).toBe(200)
    expect((await page('ada', `cursor=${own.body.next_cursor}`, members(org.aurora.toUpperCase()))).status).toBe(200)
    expect(await page('ada', `cursor=${own.body.next_cursor}`, members(org.borealis))).toMatchObject(invalid)
  })

  test('HO-04 a cursor changed in any one place, or of another key, is refused; another process with the same key opens it', async () => {
    const { body } = await page('ada', 'limit=3')
    const cursor: string = body.next_cursor
    const last = body.items.at(-1).id
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toContain(last.slice(0, 8))
    for (let at = 0; at < cursor.length; at += 1) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`
      expect(await page('ada', `cursor=${changed}`)).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    }
    for (const wrong of ['%00', 'a b', `${cursor}=`, `${cursor}%0a`, 'x'.repeat(2049), `${cursor}&cursor=${cursor}`])
      expect((await page('ada', `cursor=${wrong}`)).status).toBe(400)
    const same = await live.replica()
    expect((await live.ask('ada', listUsers, { query: { limit: 3, cursor }, base: same.url })).status).toBe(200)
    const other = await live.replica({ cursors: sealedCursors(new Secret('other'.padEnd(48, 'k'))) })
    expect(await live.ask('ada', listUsers, { query: { limit: 3, cursor }, base: other.url })).toMatchObject({
      status: 400,
      body: { code: 'cursor_invalid' },
    })
  })
})
