import { decide, decideBatch, explain, readMyPermissions } from '@gatehouse/contract/decisions'
import { describe, expect, test } from 'vitest'
import { keepFresh } from '#ground/epochs/fresh.ts'
import { newId } from '#ground/kernel/ids.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { countedDatabase } from '../../../../test/replicas/counted-database.ts'
import { unhurried } from '../../../../test/unhurried.ts'

let counted: ReturnType<typeof countedDatabase>
const live = serverFixture({
  parts: (parts) => {
    counted = countedDatabase(parts.database)
    return { ...parts, fresh: keepFresh(counted.database, unhurried.fresh) }
  },
})
const { org, project, user } = seeded

const places = {
  project: { foreign: () => project.borealis, absent: () => newId('project') },
  organization: { foreign: () => org.borealis, absent: () => newId('org') },
}
const questionAbout = (type: keyof typeof places, id: string, about?: string) => ({
  action: type === 'project' ? 'project.read' : 'tenant.read',
  resource: { type, id },
  ...(about ? { actor: { type: 'user' as const, id: user(about) } } : {}),
})
type Question = ReturnType<typeof questionAbout>
const ways: Record<string, (body: Question) => Promise<{ status: number }>> = {
  'a decision': (body) => live.ask('anna', decide, { body: body as never }),
  'a batch': (body) => live.ask('anna', decideBatch, { body: { questions: [body, body] } as never }),
  'an explanation': (body) => live.ask('anna', explain, { body: body as never }),
  permissions: ({ resource: { type, id } }) =>
    live.ask('anna', readMyPermissions, { query: (type === 'project' ? { project_id: id } : { org_id: id }) as never }),
}

/** What was asked of the database for one answer, once all that is worth keeping is kept. */
const workFor = async (ask: (body: Question) => Promise<{ status: number }>, question: () => Question) => {
  const told: { status: number; statements: string[] }[] = []
  for (let times = 0; times < 3; times += 1) {
    counted.forget()
    const { status } = await ask(question())
    told.push({ status, statements: counted.forget() })
  }
  return told.at(-1)!
}

describe.for(Object.keys(places) as (keyof typeof places)[])('%s', (type) => {
  test.for(Object.keys(ways))(
    'AU-05 DE-14 %s: of a foreign place and of an absent one → the same answer by the same statements',
    async (way) => {
      for (const about of [undefined, 'bella']) {
        if (way === 'permissions' && about) continue
        const [foreign, absent] = [
          await workFor(ways[way]!, () => questionAbout(type, places[type].foreign(), about)),
          await workFor(ways[way]!, () => questionAbout(type, places[type].absent(), about)),
        ]
        expect(foreign).toEqual(absent)
      }
    },
  )
})

test('HO-11 a decision: a stranger asks about many places → nothing of them is kept', async () => {
  const ask = (id: string) => live.ask('anna', decide, { body: questionAbout('organization', id) as never })
  await ask(org.borealis)
  counted.forget()
  await ask(org.borealis)
  // Neither a standing there nor its rules: not even asked for, since it is not known to the caller that there is one.
  expect(counted.naming('tenant_memberships')).toBe(1)
  expect(counted.naming('policy_constraints')).toBe(0)
})
