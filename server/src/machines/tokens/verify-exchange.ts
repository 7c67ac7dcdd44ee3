import type { FreshReader } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { factsOf } from '#rails/authz/facts.ts'
import { wantStanding } from '#rails/authz/read-standings.ts'
import type { Caller } from '#rails/http/answer.ts'
import { wantChain } from '#rails/policies/constraint-chain.ts'
import { policyIn, wantPolicy } from '#rails/policies/read-policy.ts'
import { actingFor } from './act.ts'
import { readLiveToken } from './identify-machine.ts'
import type { IssuerParts, Verified } from './issue-token.ts'
import type { Exchange } from './judge-issuance.ts'
import type { TokenRecord } from './lineage.ts'
import type { Parent } from './narrow.ts'
import { boundOf, heldBy } from './verify-service-account.ts'

const max_depth = 'auth.token_exchange_max_depth'
const wantedDepth = wantPolicy(max_depth)

/** The token that somebody brings, and the key that he has proved to hold, if any. */
export interface Brought {
  readonly token: string
  readonly jkt: string | null
}

type ByAccount = Verified<'service_account'>

const subject = 'subject_token'
const refused = (why: string, problem = new Problem('subject_token_invalid')): Exchange => ({ refused: problem, why })

/**
 * Whose tokens may be exchanged by whom: those of service accounts, by the accounts of their own project. A workload's way, from a token of
 * its project's service account to one of its own, gets its own line here.
 */
const isExchangeable = ({ actor_type, org_id, project_id }: TokenRecord, { bound }: ByAccount): boolean =>
  actor_type === 'service_account' && org_id === bound.org_id && project_id === bound.project_id

/**
 * What an exchange rests on: a client that is verified, and a token that counts now and that this client may exchange. Whatever is wrong
 * with the token is answered alike, so that nobody learns from it whose a token is that he found.
 */
export const exchanging = ({ keys, issuer }: Pick<IssuerParts, 'keys' | 'issuer'>) => {
  const read = readLiveToken(keys.want, { issuer: issuer.url, audience: null })

  const foundBy = async (token: string, fresh: FreshReader): Promise<TokenRecord | undefined> => {
    try {
      return (await read(token, fresh)).found
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return undefined
      throw error
    }
  }

  /** How its subject stands now: what it has lost since, the token to come does not hold. */
  const standingOf = async ({ source_ip }: Caller, fresh: FreshReader, { actor_id: id }: TokenRecord, client: ByAccount) => {
    const { org_id: tenant_id, project_id } = client.binding
    const place = { id, tenant_id, project_id, relations: [] }
    const { moment, values } = await fresh.read([
      wantStanding('service_account', { actor_id: id, tenant_id, project_id }),
      wantChain({ tenant_id, project_id }),
    ])
    const [standing, rules = []] = values
    const actor = { type: 'service_account', id } as const
    const circumstances = { actor, place, resource_type: actor.type, attributes: { source_ip }, now: moment.now }
    return standing && { place, facts: factsOf(standing, rules, circumstances) }
  }

  const within = (client: ByAccount, found: TokenRecord): Parent => ({
    id: found.id,
    audience: found.audience,
    scope: found.scope,
    exp: Math.floor(Date.parse(found.expires_at) / 1000),
    act: actingFor(found.actor_id, found.act, client.actor.id),
  })

  return async (caller: Caller, fresh: FreshReader, client: ByAccount, { token, jkt }: Brought): Promise<ByAccount> => {
    const not = (exchange: Exchange): ByAccount => ({ ...client, exchange })
    const found = await foundBy(token, fresh)
    if (!found || !isExchangeable(found, client)) return not(refused(subject))
    if (found.cnf_jkt !== null && found.cnf_jkt !== jkt) return not(refused('subject_token_holder', new Problem('proof_invalid')))
    const { values } = await fresh.read([wantedDepth])
    if ((found.lineage?.depth ?? 0) >= policyIn(max_depth, values[0])) return not(refused('subject_token_depth'))
    const parent = within(client, found)
    if (found.actor_id === client.actor.id) return { ...client, exchange: { parent, subject: null } }
    const standing = await standingOf(caller, fresh, found, client)
    if (!standing) return not(refused(subject))
    // The client was read first, and by that moment all is judged: if anything has moved since, the commit finds it out.
    const bound = boundOf(found.actor_id, client.binding, heldBy(standing.facts))
    return { ...client, bound, exchange: { parent, subject: standing } }
  }
}
export type Exchanging = ReturnType<typeof exchanging>
