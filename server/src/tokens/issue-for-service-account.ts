import { issueServiceAccountToken, type ServiceAccountTokenRequest } from '@gatehouse/contract/tokens'
import { type Facts, factsOf } from '../authz/facts.ts'
import { type Standing, wantStanding } from '../authz/standing.ts'
import type { FreshReader } from '../epochs/fresh.ts'
import type { Caller, Issuing } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import { chainOf, wantChain } from '../policies/constraint-chain.ts'
import { policyIn, wantPolicy } from '../policies/read-policy.ts'
import { type Credential, isKeyLive, isSecretOf, keepHomes, wantCredential } from '../service-accounts/credential.ts'
import { type IssuerParts, tokenIssuer, type Verified } from './issue-token.ts'
import { keysOfBelonging } from './normalise-scope.ts'
import { recordDenial } from './record-denial.ts'
import { readSlowDown, slowDownWrongs } from './slow-down.ts'
import type { Bound } from './token-policy.ts'

const own_limit = 'auth.service_account_token_ttl_seconds'
const max_ttl = 'auth.iam_token_issuer.max_ttl_seconds'
const audiences = 'auth.iam_token_issuer.allowed_audiences'
const scopes = 'auth.iam_token_issuer.allowed_scopes'
const [wantedMax, wantedAudiences, wantedScopes] = [wantPolicy(max_ttl), wantPolicy(audiences), wantPolicy(scopes)]

interface Home {
  readonly org_id: string
  readonly project_id: string
}

/** All that an issuance rests on, in one read. */
const readAll = async (
  { keys }: IssuerParts,
  fresh: FreshReader,
  { service_account_id, key_id }: ServiceAccountTokenRequest,
  home: Home,
) => {
  const place = { tenant_id: home.org_id, project_id: home.project_id }
  const { moment, values } = await fresh.read([
    wantCredential({ service_account_id, key_id, org_id: home.org_id }),
    wantStanding('service_account', { user_id: service_account_id, ...place }),
    keys.want(),
    wantPolicy(own_limit, place),
    wantedMax,
    wantedAudiences,
    wantedScopes,
    ...wantChain(place),
  ])
  const [credential, standing, key_set, own, longest, allowed_audiences, allowed_scopes, ...rules] = values
  return { home, moment, credential, standing, key_set, chains: { own, longest, allowed_audiences, allowed_scopes }, rules }
}
type Read = Awaited<ReturnType<typeof readAll>>

/** Why a key whose secret is right does not open anything; null where it does. The caller is told none of it. */
const endOf = (credential: Credential, standing: Standing | undefined, now: string): string | null => {
  if (!isKeyLive(credential, now)) return credential.revoked_at === null ? 'key_expired' : 'key_revoked'
  if (credential.account_state !== 'active') return `account_${credential.account_state}`
  // Where an organization or a project is gone, so is whatever lives in it.
  if (!standing || standing.tenant_state === null || standing.project_state === null) return 'home_gone'
  return null
}

/** Most accounts have one of a few roles, whose keys are one set as long as they are kept. */
const held = new WeakMap<ReadonlySet<string>, ReadonlySet<string>>()
const heldBy = ({ project: { allowed, is_member } }: Facts): ReadonlySet<string> => {
  if (!is_member) return allowed
  const known = held.get(allowed) ?? new Set([...allowed, ...keysOfBelonging])
  held.set(allowed, known)
  return known
}

const boundOf = ({ service_account_id }: ServiceAccountTokenRequest, { org_id, project_id }: Home, held: ReadonlySet<string>) =>
  ({
    actor_type: 'service_account',
    actor_id: service_account_id,
    org_id,
    project_id,
    resources: [
      { type: 'project', id: project_id },
      { type: 'service_account', id: service_account_id },
    ],
    held,
  }) satisfies Bound

/** The service account's way to the issuer: its secret is verified, and everything else comes from its record. */
export const issueForServiceAccount = (parts: IssuerParts): Issuing<typeof issueServiceAccountToken> => {
  const homeOf = keepHomes(parts.database.reader)
  const issue = tokenIssuer(parts)
  const slow = slowDownWrongs()

  const verified = (body: ServiceAccountTokenRequest, caller: Caller, read: Read, standing: Standing): Verified<'service_account'> => {
    const { home, moment, key_set, chains, rules } = read
    const { service_account_id: id, key_id } = body
    const actor = { type: 'service_account', id } as const
    const place = { id, tenant_id: home.org_id, project_id: home.project_id, relations: [] }
    const facts = factsOf(standing, chainOf(rules), {
      actor,
      place,
      resource_type: actor.type,
      attributes: { source_ip: caller.source_ip },
      now: moment.now,
    })
    return {
      actor,
      credential_id: key_id,
      bound: boundOf(body, home, heldBy(facts)),
      binding: { org_id: home.org_id, project_id: home.project_id },
      place,
      facts,
      policy: () => ({
        ttl_seconds: policyIn(own_limit, chains.own),
        max_ttl_seconds: policyIn(max_ttl, chains.longest),
        allowed_audiences: policyIn(audiences, chains.allowed_audiences),
        allowed_scopes: policyIn(scopes, chains.allowed_scopes),
        default_audience: parts.issuer.audience,
      }),
      keys: key_set!,
      moment,
    }
  }

  /** Always the same answer, however it came about, and ever later; of a known key it is recorded. */
  const refuse = async (
    caller: Caller,
    body: ServiceAccountTokenRequest,
    came_at: number,
    read: Read | undefined,
    why: string,
  ): Promise<never> => {
    const figures = await readSlowDown(caller.fresh)
    const attempts = read?.credential ? slow.countOf(body.key_id, figures) : null
    const recording =
      attempts === null
        ? undefined
        : recordDenial(
            parts,
            caller,
            {
              actor: { type: 'service_account', id: body.service_account_id },
              key_id: body.key_id,
              ...read!.home,
              resource: { type: 'project', id: read!.home.project_id },
            },
            // Nobody was verified, so nothing that he wrote goes into the record.
            { reason_code: 'token_invalid', why, request: {}, allowed_audiences: [], attempts },
          )
    try {
      await slow.untilAnswered(body.key_id, caller.source_ip, came_at, figures)
    } finally {
      await recording
    }
    throw new Problem('token_invalid')
  }

  return async (caller, { body }) => {
    const came_at = performance.now()
    const { client_secret, ...same_by } = body
    const { service_account_id: _account, key_id: _key, ...request } = same_by

    const verify = async (fresh: FreshReader): Promise<Verified<'service_account'>> => {
      const home = await homeOf(body.service_account_id)
      const read = home && (await readAll(parts, fresh, body, home))
      // Before anything is asked about the key, and whether or not there is one; one that has no secret opens with none.
      const isRight = isSecretOf(read?.credential?.salt ? read.credential : undefined, client_secret)
      const end = read?.credential ? endOf(read.credential, read.standing, read.moment.now) : 'unknown'
      if (!isRight || end !== null) return refuse(caller, body, came_at, read, isRight ? String(end) : 'wrong_secret')
      return verified(body, caller, read!, read!.standing!)
    }

    return issue(caller, { operation: issueServiceAccountToken as never, request, same_by, verify }) as never
  }
}
