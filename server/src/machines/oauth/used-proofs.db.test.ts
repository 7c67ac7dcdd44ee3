import { afterAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '#ground/db/database.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { forgetUsedProofs, proofUsing, type ToBeUsed } from './used-proofs.ts'

let databases: Database[]
const clone = databaseFixture(async (clone) => {
  databases = Array.from({ length: 3 }, () => openDatabase({ url: clone.appUrl, max_connections: 4, ...unhurried.database }))
})
afterAll(() => Promise.all(databases.map((database) => database.close())))

const soon = () => Math.floor(Date.now() / 1000) + 60
const proof = (changed: Partial<ToBeUsed> = {}): ToBeUsed => ({ kind: 'dpop', subject: 'a key', jti: 'one', ends_at: soon(), ...changed })

test('TI-17 of 50 who use one proof at the same time, on three processes, exactly one has used it', async () => {
  const uses = databases.map(proofUsing)
  for (let turn = 0; turn < 20; turn += 1) {
    const asked = proof({ jti: `turn ${turn}` })
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, index) => uses[index % 3]!(asked)))
    expect(outcomes.filter(Boolean)).toHaveLength(1)
  }
})

test('TI-17 many different ones at the same time are each used once, in whatever order they come', async () => {
  const [use, other] = databases.map(proofUsing) as [ReturnType<typeof proofUsing>, ReturnType<typeof proofUsing>]
  const names = Array.from({ length: 300 }, (_, index) => `many ${index}`)
  const outcomes = await Promise.all([
    ...names.map((jti) => use(proof({ jti }))),
    ...names.toReversed().map((jti) => other(proof({ jti }))),
  ])
  expect(outcomes.filter(Boolean)).toHaveLength(300)
})

test('TI-17 the same name of another key, or of another kind, is another proof', async () => {
  const use = proofUsing(databases[0]!)
  const all = [proof(), proof({ subject: 'another key' }), proof({ kind: 'client_assertion' })]
  expect(await Promise.all(all.map(use))).toEqual([true, true, true])
  expect(await Promise.all(all.map(use))).toEqual([false, false, false])
})

test('TI-11 of its name only the digest is kept', async () => {
  await proofUsing(databases[0]!)(proof({ jti: 'a name that may be anything' }))
  const rows = await asSuperuser(
    clone.ownerUrl,
    async (client) => (await client.query('select used_proofs::text as row from used_proofs')).rows,
  )
  expect(rows.length).toBeGreaterThan(0)
  expect(JSON.stringify(rows)).not.toContain('anything')
})

test('TI-17 what has ended long ago is forgotten, and nothing else', async () => {
  await asSuperuser(clone.ownerUrl, (client) => client.query('truncate used_proofs'))
  const use = proofUsing(databases[0]!)
  const now = Math.floor(Date.now() / 1000)
  const ends = { long: now - 660, lately: now - 540, later: now + 60 }
  for (const [jti, ends_at] of Object.entries(ends)) await use(proof({ jti, ends_at }))
  expect(await forgetUsedProofs(databases[0]!)).toBe(1)
  for (const [jti, isNew] of [
    ['long', true],
    ['lately', false],
    ['later', false],
  ] as const)
    expect(await use(proof({ jti, ends_at: ends[jti] }))).toBe(isNew)
})

test('TI-17 however many have ended, no statement takes more than so many of them', async () => {
  await asSuperuser(clone.ownerUrl, (client) => client.query('truncate used_proofs'))
  const use = proofUsing(databases[0]!)
  const ended = Math.floor(Date.now() / 1000) - 3600
  await Promise.all(Array.from({ length: 7 }, (_, n) => use(proof({ jti: `ended-${n}`, ends_at: ended }))))
  await use(proof({ jti: 'later', ends_at: ended + 7200 }))
  const most: number[] = []
  const watched: (typeof databases)[0] = {
    ...databases[0]!,
    transaction: async (mode, run, ...rest) => {
      const reply = await databases[0]!.transaction(mode, run, ...rest)
      most.push((reply as { count: number }).count)
      return reply
    },
  }
  expect(await forgetUsedProofs(watched, 3)).toBe(7)
  expect(most).toEqual([3, 3, 1])
})
