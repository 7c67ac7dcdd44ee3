import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { sweep } from '../../../../test/sweep.ts'
import { hasPart, parts } from '../../../../tools/test/parts.ts'

const { org, project, user } = seeded
const aurora = `/api/v1/orgs/${seeded.org.aurora}`
const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } })

describe('hostile strings', () => {
  const collected: string[] = hasPart('vectors') ? JSON.parse(readFileSync(parts.vectors.path, 'utf8')) : []
  const strings = sweep('hostile strings', collected, 25)
  const nfc = (text: string) => text.normalize('NFC')
  /** Runs them a few at a time, in order of their number. */
  const each = async (run: (text: string, number: number) => Promise<void>) => {
    let next = 0
    const lane = async () => {
      for (let number = next++; number < strings.length; number = next++) await run(strings[number]!, number)
    }
    await Promise.all([lane(), lane(), lane(), lane()])
  }
  const only = (expected: number, { status, text }: Answered) => {
    if (status !== expected && status !== 400) throw new Error(`${status} is neither ${expected} nor 400: ${text}`)
    return status === expected
  }
  const reasons = async (prefix: string) =>
    new Map(
      (
        await live.sql<{ correlation_id: string; reason: string | null }>(
          `select correlation_id, metadata ->> 'reason' as reason from audit_logs where correlation_id like $1 || '%' and result = 'success'`,
          [prefix],
        )
      ).map(({ correlation_id, reason }) => [correlation_id, reason]),
    )
  const sent = (number: number, field: string) => ({ headers: { 'x-request-id': `naughty-${field}-${number}` } })
  const needs = test.skipIf(!hasPart('vectors'))

  const listAll = async (person: string, path: string) => {
    const items = new Map<string, { name: string }>()
    for (let cursor = ''; ; ) {
      const { body } = await live.call(person, 'GET', `${path}?limit=200${cursor}`)
      for (const item of body.items) items.set(item.id, item)
      if (body.next_cursor === null) return items
      cursor = `&cursor=${body.next_cursor}`
    }
  }

  for (const [what, person, path, read] of [
    ['organization', 'ada', '/api/v1/orgs', (id: string) => `/api/v1/orgs/${id}`],
    ['project', 'alice', `${aurora}/projects`, (id: string) => `/api/v1/projects/${id}`],
  ] as const)
    needs(
      `HO-04 as name, slug, owner and reason of a new ${what}, and as its new name: kept in NFC form or refused (needs vectors)`,
      async () => {
        const made = new Map<string, string>()
        const owner_user_id = user('anna')
        await each(async (text, n) => {
          const base = { name: 'N', slug: `n-${n}`, owner_user_id }
          const named = await live.call(person, 'POST', path, { body: { ...base, name: text } })
          if (only(201, named)) {
            expect(named.body.name).toBe(nfc(text))
            made.set(named.body.id, nfc(text))
            expect((await live.call('anna', 'GET', read(named.body.id))).body.name).toBe(nfc(text))
            const [renamer, renamed] = what === 'project' ? ['adam', `${text}!`] : ['anna', `${text}!`]
            const again = await live.call(renamer, 'PATCH', read(named.body.id), {
              body: { name: renamed, reason: text },
              ...sent(n, `${what}-rename`),
            })
            if (only(200, again)) made.set(named.body.id, nfc(renamed))
          }
          const slugged = await live.call(person, 'POST', path, { body: { ...base, slug: text } })
          if (slugged.status !== 409 && only(201, slugged)) expect(slugged.body.slug).toBe(text)
          expect(only(201, await live.call(person, 'POST', path, { body: { ...base, owner_user_id: text } }))).toBe(false)
          const body = { ...base, slug: `r-${n}`, reason: text }
          const reasoned = await live.call(person, 'POST', path, { body, ...sent(n, `${what}-create`) })
          if (only(201, reasoned)) made.set(reasoned.body.id, 'N')
        })
        const listed = await listAll('ada', path)
        for (const [id, name] of made) expect(listed.get(id)?.name).toBe(name)
        for (const field of ['create', 'rename'])
          for (const [id, reason] of await reasons(`naughty-${what}-${field}-`))
            expect(reason).toBe(nfc(strings[Number(id.split('-').at(-1))]!))
        expect(made.size).toBeGreaterThan(strings.length)
      },
      120_000,
    )

  needs(
    'HO-04 as the reason of what is ended, suspended, archived or disabled, and of its return (needs vectors)',
    async () => {
      const pairs = [
        ['ada', `/api/v1/orgs/${org.borealis}`, 'suspend', 'resume'],
        ['adam', `/api/v1/projects/${project.aurora}`, 'archive', 'restore'],
        ['ada', `/api/v1/admin/users/${user('bodo')}`, 'disable', 'enable'],
      ] as const
      let kept = 0
      for (const [n, text] of strings.entries()) {
        await Promise.all(
          pairs.map(async ([person, path, there, back]) => {
            const gone = await live.call(person, 'POST', `${path}/${there}`, { body: { reason: text }, ...sent(n, there) })
            if (!only(200, gone)) return
            kept += 1
            expect(only(200, await live.call(person, 'POST', `${path}/${back}`, { body: { reason: text }, ...sent(n, back) }))).toBe(true)
          }),
        )
      }
      expect(kept).toBeGreaterThan(strings.length)
      for (const [, , there, back] of pairs)
        for (const field of [there, back]) {
          const recorded = await reasons(`naughty-${field}-`)
          expect(recorded.size).toBe(kept / 3)
          for (const [id, reason] of recorded) expect(reason).toBe(nfc(strings[Number(id.split('-').at(-1))]!))
        }
    },
    120_000,
  )

  needs(
    'HO-04 as every text of a membership, and of its end (needs vectors)',
    async () => {
      const members = await live.sql<{ id: string }>(
        `with made as (
         insert into users (id, username, oidc_issuer, oidc_subject, created_at)
         select gen_random_uuid(), 'naughty-' || n, 'https://naughty.example', n, now() from generate_series(1, $1) n returning id)
       insert into tenant_memberships (id, tenant_id, user_id, created_at) select gen_random_uuid(), $2, id, now() from made returning user_id as id`,
        [strings.length, org.aurora],
      )
      const path = `/api/v1/projects/${project.aurora}/members`
      await each(async (text, n) => {
        const user_id = members[n]!.id
        const body = { user_id, role_name: 'project_viewer' }
        const role = await live.call('amara', 'POST', path, { body: { ...body, role_name: text } })
        if (role.status !== 404) expect(role.status).toBe(400)
        expect(only(201, await live.call('amara', 'POST', path, { body: { ...body, user_id: text } }))).toBe(false)
        const added = await live.call('amara', 'POST', path, { body: { ...body, reason: text }, ...sent(n, 'add') })
        if (!only(201, added)) return
        expect(only(204, await live.call('amara', 'DELETE', `${path}/${user_id}`, { body: { reason: text }, ...sent(n, 'remove') }))).toBe(
          true,
        )
        expect(
          only(204, await live.call('alice', 'DELETE', `${aurora}/members/${user_id}`, { body: { reason: text }, ...sent(n, 'leave') })),
        ).toBe(true)
      })
      for (const field of ['add', 'remove', 'leave']) {
        const recorded = await reasons(`naughty-${field}-`)
        expect(recorded.size).toBeGreaterThan(strings.length / 2)
        for (const [id, reason] of recorded) expect(reason).toBe(nfc(strings[Number(id.split('-').at(-1))]!))
      }
    },
    120_000,
  )

  needs(
    'HO-04 in a path and in a query: a 400 or nothing to be found, never more (needs vectors)',
    async () => {
      await each(async (text) => {
        const coded = encodeURIComponent(text)
        for (const path of [
          `/api/v1/orgs/${coded}`,
          `/api/v1/orgs?cursor=${coded}`,
          `/api/v1/orgs?limit=${coded}`,
          `/api/v1/orgs?${coded}=1`,
        ]) {
          const { status } = await live.call('anna', 'GET', path)
          const isMeant = /[?]limit=(?:[1-9]\d?|1\d\d|200)$/.test(path) || text === '' || text === '.' || text === '..'
          if (!isMeant) expect({ path, status }).toEqual({ path, status: 400 })
          expect(status).toBeLessThan(500)
        }
      })
    },
    60_000,
  )
})
