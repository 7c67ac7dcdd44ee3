import type { Append } from '../audit/append.ts'
import type { Database } from '../db/database.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import { type Actor, systemWork } from '../work/work.ts'
import { welcome } from './first-sign-in.ts'
import type { HumanTokens } from './oidc/human-tokens.ts'
import { userBySubject } from './user-queries.ts'

/** Who a person's access token speaks for. Whether he may still do anything is not asked here: the engine asks it each time. */
export const identifyPerson =
  (tokens: Pick<HumanTokens, 'validate'>, database: Database, subscribers: TenancySubscribers, append: Append) =>
  async (token: string, correlation_id: string): Promise<Actor> => {
    const claims = await tokens.validate(token)
    const known = await database.reader.maybe(userBySubject(claims.issuer, claims.subject))
    if (known) return { type: 'user', id: known.id }
    const id = await database.transaction('write', async (tx) => {
      const work = systemWork(tx, 'first_sign_in', correlation_id)
      const user_id = await welcome(work, claims, subscribers)
      await append(work)
      return user_id
    })
    return { type: 'user', id }
  }
