import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { expect, test } from 'vitest'
import { openDatabase } from '#ground/db/database.ts'
import { type Statement, sql } from '#ground/db/statement.ts'
import { newId } from '#ground/kernel/ids.ts'
import { fixture } from '../../../../test/fixture.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { operatorStandingsOf } from './operator-standing-queries.ts'
import { serviceAccountStandingsOf } from './service-account-standing-queries.ts'
import { standingsOf } from './standing-queries.ts'

const clone = databaseFixture()
const database = fixture(
  () => openDatabase({ url: clone.appUrl, max_connections: 1, ...unhurried.database }),
  (opened) => opened.close(),
)

const Plans = Exactly({ kept: Type.Integer(), made: Type.Integer() })
const plansOf = (name: string) => sql(Plans)`
  select generic_plans::int as kept, custom_plans::int as made from pg_prepared_statements where name = ${name}`

// Planned each time, the first of them costs four times as much: and it is asked for every change, and again after each.
test.for([
  ['people', standingsOf],
  ['service accounts', serviceAccountStandingsOf],
  ['operators', operatorStandingsOf],
] as const)('DE-19 how %s stand is planned a few times, then the plan is kept', async ([, standings]) => {
  const asked = (): Statement<unknown> => standings([newId('user')], [newId('org')], [newId('project')])
  for (let times = 0; times < 20; times += 1) await database.reader.many(asked())
  expect(await database.reader.one(plansOf(asked().name))).toEqual({ kept: 15, made: 5 })
})
