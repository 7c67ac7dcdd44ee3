import { connectionSharesOf } from '#ground/db/connection-shares.ts'
import type { Database } from '#ground/db/database.ts'
import { type Source, type Wanted, want } from '#ground/epochs/fresh.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import { type Actor, systemWork } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import type { Showing } from '#rails/http/answer.ts'
import { tenantQueues } from '#rails/http/tenant-queues.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import { welcome } from './first-sign-in.ts'
import type { HumanClaims, HumanTokens } from './oidc/human-tokens.ts'
import { effectOf, hearAddress } from './stated-address.ts'
import { type Addressed, userBySubject } from './user-queries.ts'

interface Subject {
  readonly issuer: string
  readonly subject: string
}

/** Which person a subject is. That somebody is unknown is not kept: they may sign in at any moment. */
const people: Source<Subject, Addressed> = {
  name: 'person',
  textOf: ({ issuer, subject }) => JSON.stringify([issuer, subject]),
  tenantOf: () => null,
  load: async (tx, subjects) => {
    const found = []
    for (const { issuer, subject } of subjects) found.push(await tx.maybe(userBySubject(issuer, subject)))
    return found
  },
}

/** By what a token said, which stays the same thing as long as the token is remembered. */
const wanted = new WeakMap<Subject, Wanted<Addressed>>()
const wantPerson = (subject: Subject): Wanted<Addressed> => {
  const known = wanted.get(subject) ?? want(people, subject)
  wanted.set(subject, known)
  return known
}

/** Of so many people a process remembers what it found in their rows. */
const most = 10_000

/** Who a person's access token speaks for. Whether they may still do anything is not asked here: the engine asks it each time. */
export const identifyPerson = (
  tokens: Pick<HumanTokens, 'validate'>,
  database: Database,
  subscribers: TenancySubscribers,
  append: Append,
) => {
  /**
   * `iat` of the newest token that named an address, as this process last saw it in the row. The row decides; this only spares a write for
   * each request, because confirming an address moves no epoch and so does not refresh what is cached of the person.
   */
  const said_at = recentlyUsed<number>(most)
  const latest = (known: Addressed): Addressed => ({ ...known, said_at: Math.max(known.said_at ?? 0, said_at.get(known.id) ?? 0) || null })

  /**
   * A person who signs in has no tenant yet, and what is recorded of it waits for the end of the platform's chain: few do so with a connection. A token
   * that repeats the address writes no such row, so known people do not wait behind newcomers.
   */
  const queues = tenantQueues({ lent: connectionSharesOf(database.connections).lent })
  const recorded = <T>(act: () => Promise<T>) => queues('sign-in', act)

  return async (token: string, { correlation_id, fresh, identified }: Showing, before?: HumanClaims): Promise<Actor> => {
    const claims = before ?? (await tokens.validate(token))
    const { values } = await fresh.read([wantPerson(claims)])
    const [known] = values
    if (known) {
      const actor: Actor = { type: 'user', id: known.id }
      const effect = effectOf(latest(known), claims)
      if (effect === 'ignored') return actor
      // Counted first: each token that names an address is a row to write.
      await identified(actor)
      const hear = () =>
        database.transaction('write', async (tx) => {
          const work = systemWork(tx, 'sign_in', correlation_id)
          const heard = await hearAddress(work, known.id, claims)
          await append(work)
          return heard
        })
      const counts = await (effect === 'confirmed' ? hear() : recorded(hear))
      said_at.set(known.id, counts)
      return actor
    }
    const id = await recorded(() =>
      database.transaction('write', async (tx) => {
        const work = systemWork(tx, 'first_sign_in', correlation_id)
        const user_id = await welcome(work, claims, subscribers)
        await append(work)
        return user_id
      }),
    )
    return { type: 'user', id }
  }
}
