import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { beforeEach, describe, expect, test } from 'vitest'
import { id, rows } from '../../../../test/epoch-changes.ts'
import { barrier } from '../../../../test/faults/statement-faults.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { declaredSources, keptSources } from '../../../../test/replicas/kept-sources.ts'
import type { Tx } from '../db/database.ts'
import { type Statement, sql } from '../db/statement.ts'

const live = serverFixture()

const { org, user } = seeded

const epochs = async () => {
  const rows = await live.sql<{ id: string; value: string; stamp: string }>('select id, value, stamp from epochs')
  return new Map(rows.map(({ id, value, stamp }) => [id, { value: Number(value), stamp }]))
}

describe('no table is forgotten', () => {
  const tablesRead = async () => {
    const asked: string[] = []
    const note = (statement: Statement<unknown>) => void asked.push(statement.text)
    const tx = {
      now: '',
      one: async (statement: Statement<unknown>) => {
        note(statement)
        return {}
      },
      maybe: async (statement: Statement<unknown>) => note(statement),
      many: async (statement: Statement<unknown>) => {
        note(statement)
        return []
      },
    } as unknown as Tx
    const sources = Object.values(await keptSources())
    expect(sources).toHaveLength(declaredSources())
    const key = {
      ...{ actor_id: id.user, tenant_id: id.org, project_id: id.project, key: 'k', issuer: 'i', subject: 's' },
      ...{ owner_id: id.account, key_id: id.key, org_id: id.org, jti: id.key },
    }
    for (const source of sources) await source.load(tx, [key])
    expect(asked).toHaveLength(sources.length)
    return new Set(
      asked.flatMap((text) =>
        [...text.matchAll(/(?<!distinct )\b(?:from|join)\s+(?!lateral\b)([a-z_]+)(?!\w|\()/g)].map(([, table]) => table!),
      ),
    )
  }

  test('DE-19 every table that something kept is read from moves an epoch at every kind of change', async () => {
    const triggers = await live.sql<{ table: string; kinds: string[]; is_deferred: boolean }>(`
      select t.tgrelid::regclass::text as table, bool_and(t.tgdeferrable and t.tginitdeferred) as is_deferred,
             array_agg(distinct k.kind order by k.kind) as kinds
        from pg_trigger t join (values (4, 'insert'), (8, 'delete'), (16, 'update')) as k (bit, kind) on t.tgtype & k.bit > 0
       where t.tgfoid = 'move_epoch_of_row'::regproc and t.tgenabled = 'O' group by 1`)
    const read = [...(await tablesRead())].sort()
    expect(read).toEqual(triggers.map(({ table }) => table).sort())
    expect(triggers.filter(({ is_deferred }) => !is_deferred)).toEqual([])
    const partly = triggers.filter(({ kinds }) => kinds.join() !== 'delete,insert,update')
    // Nobody keeps that a person, a key or a token is unknown; a version comes and goes with its role; there is one installation.
    expect(partly.map(({ table, kinds }) => `${table} ${kinds}`).sort()).toEqual([
      'installation update',
      'issued_tokens delete,update',
      'role_definition_versions update',
      'service_account_keys delete,update',
      'shared_runtime_operator_credentials delete,update',
      'users delete,update',
    ])
    // And each of them is tried above.
    const apart = [
      ...['users', 'role_definition_versions', 'service_account_keys', 'shared_runtime_operator_credentials'],
      ...['issued_tokens', 'installation'],
    ]
    expect(new Set([...rows.map(({ table }) => table), ...apart])).toEqual(new Set(read))
  })
})

describe('transactions that meet', () => {
  const Nothing = Exactly({})
  const pull = () => sql(Nothing)`set constraints all immediate`
  const rename = (slug: string) => sql(Exactly({ id: Type.String() }))`
    update projects set name = name || '.' where org_id = (select o.id from organizations o where o.slug = ${slug}) returning id`
  beforeEach(() => live.sql(`update projects set name = 'n'`))

  const crossing = (first: string, second: string, meet: () => Promise<void>) =>
    live.database.transaction('write', async (tx) => {
      tries += 1
      await tx.many(rename(first))
      await tx.many(pull())
      await meet()
      await tx.many(rename(second))
    })
  let tries = 0

  test('DE-19 two that want two epochs in opposite order both end, the loser by trying again', async () => {
    // Rows of their own to change, so that nothing but the epochs is fought over.
    tries = 0
    const meet = barrier(2)
    const before = await epochs()
    await Promise.all([crossing('aurora', 'borealis', meet), crossing('borealis', 'aurora', meet)])
    expect(tries).toBeGreaterThan(2)
    const after = await epochs()
    for (const tenant of [org.aurora, org.borealis]) expect(after.get(tenant)!.value - before.get(tenant)!.value).toBe(2)
  })

  test('DE-19 several that change two tenants at once all end, and those that came through are counted', async () => {
    const before = await epochs()
    const both = (slugs: readonly string[]) =>
      live.database.transaction('write', async (tx) => {
        for (const slug of slugs) await tx.many(member(slug))
      })
    const member = (slug: string) => sql(Exactly({ id: Type.String() }))`
      insert into tenant_memberships (id, tenant_id, user_id, created_at, deleted_at, delete_reason)
      select gen_random_uuid(), o.id, ${user('ada')}, now(), now(), 'test' from organizations o where o.slug = ${slug} returning id`
    const pairs = Array.from({ length: 6 }, (_, at) => both(at % 2 ? ['aurora', 'borealis'] : ['borealis', 'aurora']))
    const outcomes = await Promise.allSettled(pairs)
    const refused = outcomes.filter(({ status }) => status === 'rejected')
    // Where one lost every race it tried, it is told that the database was not there for it: nothing is half done.
    for (const each of refused) expect((each as PromiseRejectedResult).reason).toMatchObject({ code: 'dependency_unavailable' })
    const after = await epochs()
    for (const tenant of [org.aurora, org.borealis])
      expect(after.get(tenant)!.value - before.get(tenant)!.value).toBe(pairs.length - refused.length)
    expect(refused.length).toBeLessThan(pairs.length)
  })
})
