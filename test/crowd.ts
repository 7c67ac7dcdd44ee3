import { beforeAll } from 'vitest'
import { newId } from '../server/src/ground/kernel/ids.ts'
import { type LiveServer, seeded } from './live-server.ts'

export interface Somebody {
  readonly id: string
  /** What `call` takes as the person. */
  readonly subject: string
}

let crowds = 0

const newPeople = (count: number): Somebody[] => {
  crowds += 1
  return Array.from({ length: count }, (_, at) => ({ id: newId('user') as string, subject: `crowd-${crowds}-${at}` }))
}

const insertPeople = async ({ sql, issuer }: Pick<LiveServer, 'sql' | 'issuer'>, people: readonly Somebody[]): Promise<void> => {
  const ids = people.map(({ id }) => id)
  await sql(
    `insert into users (id, username, oidc_issuer, oidc_subject, created_at)
     select id, subject, $3, subject, now() from unnest($1::uuid[], $2::text[]) as p (id, subject)`,
    [ids, people.map(({ subject }) => subject), issuer.issuer],
  )
  for (const [tier, scope] of [
    ['tenant', seeded.org.aurora],
    ['project', seeded.project.aurora],
  ])
    await sql(
      `insert into ${tier}_memberships (id, ${tier}_id, user_id, created_at) select gen_random_uuid(), $2, id, now() from unnest($1::uuid[]) as id`,
      [ids, scope],
    )
}

/** People beyond the seeded ones: members of the first organization and its project, with no role in either. */
export const crowd = async (live: Pick<LiveServer, 'sql' | 'issuer'>, count: number): Promise<Somebody[]> => {
  const people = newPeople(count)
  await insertPeople(live, people)
  return people
}

/** The crowd that all tests of a file share. */
export const crowdFixture = (live: LiveServer, count: number): readonly Somebody[] => {
  const people = newPeople(count)
  beforeAll(() => insertPeople(live, people))
  return people
}
