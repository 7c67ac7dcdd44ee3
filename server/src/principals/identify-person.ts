import type { Append } from '../audit/append.ts'
import type { Database } from '../db/database.ts'
import { type Source, type Wanted, want } from '../epochs/fresh.ts'
import type { Showing } from '../http/answer.ts'
import { recentlyUsed } from '../kernel/recently-used.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import { type Actor, systemWork } from '../work/work.ts'
import { isMoved, moveAddress, welcome } from './first-sign-in.ts'
import type { HumanClaims, HumanTokens } from './oidc/human-tokens.ts'
import { type Addressed, userBySubject } from './user-queries.ts'

interface Subject {
  readonly issuer: string
  readonly subject: string
}

/** Which person a subject is. That somebody is unknown is not kept: he may sign in at any moment. */
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

/** Of this many: whose address moves most is remembered. */
const most = 10_000

/** Who a person's access token speaks for. Whether he may still do anything is not asked here: the engine asks it each time. */
export const identifyPerson = (
  tokens: Pick<HumanTokens, 'validate'>,
  database: Database,
  subscribers: TenancySubscribers,
  append: Append,
) => {
  /**
   * When the token was issued by which a person has his address, as far as this process has seen it: an earlier one, which may count for
   * a while, would give back to him what his provider has taken from him since.
   */
  const addressed_at = recentlyUsed<number>(most)

  return async (token: string, { correlation_id, fresh, identified }: Showing, before?: HumanClaims): Promise<Actor> => {
    const claims = before ?? (await tokens.validate(token))
    const { values } = await fresh.read([wantPerson(claims)])
    const [known] = values
    if (known) {
      const actor: Actor = { type: 'user', id: known.id }
      if (!isMoved(known, claims) || claims.issued_at < (addressed_at.get(known.id) ?? 0)) return actor
      // Counted first: by two tokens that name two addresses he could have as many rows written as he likes.
      await identified(actor)
      await database.transaction('write', async (tx) => {
        const work = systemWork(tx, 'sign_in', correlation_id)
        await moveAddress(work, known, claims)
        await append(work)
      })
      addressed_at.set(known.id, claims.issued_at)
      return actor
    }
    const id = await database.transaction('write', async (tx) => {
      const work = systemWork(tx, 'first_sign_in', correlation_id)
      const user_id = await welcome(work, claims, subscribers)
      await append(work)
      return user_id
    })
    addressed_at.set(id, claims.issued_at)
    return { type: 'user', id }
  }
}
