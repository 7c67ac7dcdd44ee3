import type { introspectToken as Op } from '@gatehouse/contract/oauth'
import type { Reply } from '@gatehouse/contract/operation'
import { Problem } from '#ground/kernel/problem.ts'
import { requireAllowed } from '#rails/authz/authorize.ts'
import { factsOf, nobody } from '#rails/authz/facts.ts'
import { wantStanding } from '#rails/authz/read-standings.ts'
import type { Asker, Asking } from '#rails/http/answer.ts'
import { wantChain } from '#rails/policies/constraint-chain.ts'
import { type LiveToken, readLiveToken } from '../tokens/identify-machine.ts'
import type { OAuthParts } from './oauth-parts.ts'

interface Home {
  readonly org_id: string
  readonly project_id: string
}

const requireMayAsk = async ({ actor, fresh, trail, source_ip }: Asker, { org_id, project_id }: Home): Promise<void> => {
  const place = { id: actor.id, tenant_id: org_id, project_id, relations: [] }
  const { moment, values } = await fresh.read([
    wantStanding(actor.type, { actor_id: actor.id, tenant_id: org_id, project_id }),
    wantChain(place),
  ])
  const [standing, rules = []] = values
  const circumstances = { actor, place, resource_type: actor.type, attributes: { source_ip }, now: moment.now }
  const facts = factsOf(standing ?? nobody(actor), rules, circumstances)
  const kind = { type: actor.type, missing: 'token_invalid' } as const
  requireAllowed(trail, { alternatives: ['auth.token.introspect'], kind, place, is_there: true }, facts)
}

/** What one takes of the event loop; the bench `introspect` says how many there are in a second. */
const introspection_ms = 0.1

/** All that is said of a token that does not count, whatever the reason. */
const inactive: Reply<typeof Op> = { active: false }

const told = ({ verified: { claims }, found }: LiveToken): Reply<typeof Op> => ({
  active: true,
  scope: claims.scope,
  ...(found.credential_id === null ? {} : { client_id: found.credential_id }),
  token_type: found.cnf_jkt === null ? 'Bearer' : 'DPoP',
  exp: claims.exp,
  iat: claims.iat,
  sub: claims.sub as never,
  aud: claims.aud,
  iss: claims.iss,
  jti: claims.jti as never,
  actor_type: claims.actor_type,
  ...(found.org_id === null ? {} : { org_id: found.org_id as never }),
  ...(found.project_id === null ? {} : { project_id: found.project_id as never }),
  ...(found.shared_runtime_id === null ? {} : { shared_runtime_id: found.shared_runtime_id as never }),
  ...(found.cnf_jkt === null ? {} : { cnf: { jkt: found.cnf_jkt } }),
  ...(found.act && { act: found.act as never }),
})

/**
 * Whether a token counts now, for whoever is of its tenant; for whichever audience, since whoever asks is the audience. Of a disabled
 * account it is not active: nothing would be answered to it.
 */
export const introspectToken = ({ keys, issuer, gate }: OAuthParts): Asking<typeof Op> => {
  const read = readLiveToken(keys.want, { issuer: issuer.url, audience: null })
  return async (asker, { body: { token } }) => {
    const home = await gate.homeOf(asker.actor.id)
    if (!home) throw new Problem('token_invalid')
    await asker.turns.enter(home.org_id, asker.fresh.limit_ms, introspection_ms)
    await requireMayAsk(asker, home)
    try {
      const live = await read(token, asker.fresh)
      return live.found.org_id === home.org_id && live.found.actor_state === 'active' ? told(live) : inactive
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return inactive
      throw error
    }
  }
}
