import { uuidPattern } from '@gatehouse/contract/shapes'
import { LRUCache } from 'lru-cache'
import { type Facts, factsOf } from '../authz/facts.ts'
import { type Standing, wantStanding } from '../authz/standing.ts'
import type { FreshReader } from '../epochs/fresh.ts'
import type { Caller } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import { chainOf, wantChain } from '../policies/constraint-chain.ts'
import { policyIn, wantPolicy } from '../policies/read-policy.ts'
import { type Credential, endOfKey, keepHomes, keepOwners, wantCredential } from '../service-accounts/credential.ts'
import { noteUseOfKeys } from '../service-accounts/credential-queries.ts'
import type { Actor } from '../work/work.ts'
import type { IssuerParts, Verified } from './issue-token.ts'
import { keysOfBelonging } from './normalise-scope.ts'
import type { DenialRecorder } from './record-denial.ts'
import { readSlowDown, slowDownWrongs, type Wrong } from './slow-down.ts'
import type { Bound } from './token-policy.ts'

const own_limit = 'auth.service_account_token_ttl_seconds'
const max_ttl = 'auth.iam_token_issuer.max_ttl_seconds'
const audiences = 'auth.iam_token_issuer.allowed_audiences'
const scopes = 'auth.iam_token_issuer.allowed_scopes'
const [wantedMax, wantedAudiences, wantedScopes] = [wantPolicy(max_ttl), wantPolicy(audiences), wantPolicy(scopes)]

/** Where an account lives. */
interface Home {
  readonly org_id: string
  readonly project_id: string
}

/** A key and whose it is, by the record or as somebody says: only a read finds out. */
interface Located {
  readonly service_account_id: string
  readonly key_id: string
  readonly home: Home
}

const wantOfAccount = (service_account_id: string, { org_id: tenant_id, project_id }: Home) => ({
  service_account_id,
  standing: wantStanding('service_account', { user_id: service_account_id, tenant_id, project_id }),
  own: wantPolicy(own_limit, { tenant_id, project_id }),
  rules: wantChain({ tenant_id, project_id }),
})
/** Beside the home that is kept: an account that asks often asks for the same each time, and to spell it out costs as much as to find it. */
const wanted = new WeakMap<Home, ReturnType<typeof wantOfAccount>>()
const wantedBy = ({ service_account_id, home }: Located) => {
  const known = wanted.get(home)
  if (known?.service_account_id === service_account_id) return known
  const made = wantOfAccount(service_account_id, home)
  wanted.set(home, made)
  return made
}

/** All that an issuance rests on, in one read. */
const readAll = async ({ keys }: IssuerParts, fresh: FreshReader, located: Located) => {
  const { service_account_id, key_id, home } = located
  const of_account = wantedBy(located)
  const { moment, values } = await fresh.read([
    wantCredential({ service_account_id, key_id, org_id: home.org_id }),
    of_account.standing,
    keys.want(),
    of_account.own,
    wantedMax,
    wantedAudiences,
    wantedScopes,
    ...of_account.rules,
  ])
  const [credential, standing, key_set, own, longest, allowed_audiences, allowed_scopes, ...rules] = values
  return { ...located, moment, credential, standing, key_set, chains: { own, longest, allowed_audiences, allowed_scopes }, rules }
}
type Read = Awaited<ReturnType<typeof readAll>>

/** As much of it as says whether a key opens anything. */
const readKey = async (fresh: FreshReader, located: Located) => {
  const { service_account_id, key_id, home } = located
  const { moment, values } = await fresh.read([
    wantCredential({ service_account_id, key_id, org_id: home.org_id }),
    wantStanding('service_account', { user_id: service_account_id, tenant_id: home.org_id, project_id: home.project_id }),
  ])
  return { ...located, moment, credential: values[0], standing: values[1] }
}
type ReadKey = Awaited<ReturnType<typeof readKey>>

/** Why a key whose secret is right does not open anything; null where it does. The caller is told none of it. */
const endOf = (credential: Credential, standing: Standing | undefined, now: string): string | null => {
  const end = endOfKey(credential, now)
  if (end !== null) return end
  if (credential.account_state !== 'active') return `account_${credential.account_state}`
  // Where an organization or a project is gone, so is whatever lives in it.
  if (!standing || standing.tenant_state === null || standing.project_state === null) return 'home_gone'
  return null
}

/** Most accounts have one of a few roles, whose keys are one set as long as they are kept. */
const held = new WeakMap<ReadonlySet<string>, ReadonlySet<string>>()
export const heldBy = ({ project: { allowed, is_member } }: Facts): ReadonlySet<string> => {
  if (!is_member) return allowed
  const known = held.get(allowed) ?? new Set([...allowed, ...keysOfBelonging])
  held.set(allowed, known)
  return known
}

export const boundOf = (
  { service_account_id, home: { org_id, project_id } }: Pick<Located, 'service_account_id' | 'home'>,
  held: ReadonlySet<string>,
) =>
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

/** Which key somebody says he has: of the account that he names, or simply the key. */
export interface Claimed {
  readonly key_id: string
  readonly service_account_id?: string
}

/**
 * True, or why not in the words of the record: the caller is not told. False: the secret is wrong. What is good once is used up by the
 * function, false where somebody was first: it writes, and so it comes after the request has been counted.
 */
export type Proved = boolean | 'wrong_assertion' | (() => Promise<boolean>)
/** Whether he has it, found out with the same work whether or not there is such a key. */
export type Prove = (credential: Credential | undefined, now: string) => Proved | Promise<Proved>

const isId = new RegExp(uuidPattern)

/** Whom everybody is taken for who names somebody that there is not: what is read of him is read as of anybody, and nothing is found. */
const nowhere = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const nobody: Located = { service_account_id: nowhere, key_id: nowhere, home: { org_id: nowhere, project_id: nowhere } }

/** Whether a key of a service account opens: one way for all who bring one, so that guessing is slowed and recorded in one place. */
export const serviceAccountGate = (parts: IssuerParts, denials: DenialRecorder) => {
  const homeOf = keepHomes(parts.database.reader)
  const ownerOf = keepOwners(parts.database.reader)
  const slow = slowDownWrongs()

  /** In which minute a key's last use was noted by this process. Where a token is issued, that is noted beside it. */
  const noted = new LRUCache<string, string>({ max: 50_000 })
  const noteUse = async (key_id: string, now: string): Promise<void> => {
    const minute = now.slice(0, 16)
    if (noted.get(key_id) === minute) return
    noted.set(key_id, minute)
    await parts.database.transaction('write', (tx) => tx.many(noteUseOfKeys([key_id], now)))
  }

  const locate = async ({ key_id, service_account_id }: Claimed): Promise<Located> => {
    const owner = service_account_id ?? (await ownerOf(isId.test(key_id) ? key_id : nobody.key_id)) ?? nobody.service_account_id
    const home = await homeOf(owner)
    return home ? { service_account_id: owner, key_id, home } : nobody
  }

  /**
   * Always the same answer, however it came about, and ever later. Of a known key it is recorded, which neither hastens the answer nor
   * delays it nor makes it another one.
   */
  const refuse = async (caller: Caller, key_id: string, came_at: number, read: ReadKey, { why, is_right }: Wrong): Promise<never> => {
    const figures = await readSlowDown(caller.fresh)
    const attempts = read.credential ? slow.countOf(key_id, { why, is_right }, figures) : null
    if (attempts !== null)
      denials.writeAside(
        caller,
        {
          actor: { type: 'service_account', id: read.service_account_id },
          key_id,
          ...read.home,
          resource: { type: 'project', id: read.home.project_id },
        },
        // Nobody was verified, so nothing that he wrote goes into the record.
        { reason_code: 'token_invalid', why, request: {}, allowed_audiences: [], attempts },
      )
    await slow.untilAnswered(key_id, caller.source_ip, came_at, figures)
    throw new Problem('token_invalid')
  }

  /** What was read, if the key opens. */
  const opened = async <R extends ReadKey>(
    caller: Caller,
    claimed: Claimed,
    came_at: number,
    prove: Prove,
    readOf: (located: Located) => Promise<R>,
  ): Promise<R & { readonly standing: Standing }> => {
    const read = await readOf(await locate(claimed))
    // Before anything is asked about the key, and whether or not there is one.
    const proved = await prove(read.credential, read.moment.now)
    const end = read.credential ? endOf(read.credential, read.standing, read.moment.now) : 'unknown'
    const isRight = proved === true || typeof proved === 'function'
    if (!isRight) return refuse(caller, claimed.key_id, came_at, read, { why: proved || 'wrong_secret', is_right: false })
    if (end !== null) return refuse(caller, claimed.key_id, came_at, read, { why: end, is_right: true })
    await caller.identified({ type: 'service_account', id: read.service_account_id })
    if (proved !== true && !(await proved()))
      return refuse(caller, claimed.key_id, came_at, read, { why: 'used_assertion', is_right: true })
    return read as R & { standing: Standing }
  }

  const verified = (caller: Caller, read: Read & { readonly standing: Standing }): Verified<'service_account'> => {
    const { home, moment, key_set, chains, rules, service_account_id: id, key_id } = read
    const actor = { type: 'service_account', id } as const
    const place = { id, tenant_id: home.org_id, project_id: home.project_id, relations: [] }
    const facts = factsOf(read.standing, chainOf(rules), {
      actor,
      place,
      resource_type: actor.type,
      attributes: { source_ip: caller.source_ip },
      now: moment.now,
    })
    return {
      actor,
      credential_id: key_id,
      bound: boundOf(read, heldBy(facts)),
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

  return {
    /** For an issuance, which may have to be judged more than once: everything that it rests on. */
    verifier: (caller: Caller, claimed: Claimed, prove: Prove) => {
      const came_at = performance.now()
      return async (fresh: FreshReader): Promise<Verified<'service_account'>> =>
        verified(caller, await opened(caller, claimed, came_at, prove, (located) => readAll(parts, fresh, located)))
    },
    /** Only whose the key is. */
    identify: async (caller: Caller, claimed: Claimed, prove: Prove): Promise<Actor> => {
      const read = await opened(caller, claimed, performance.now(), prove, (located) => readKey(caller.fresh, located))
      await noteUse(read.key_id, read.moment.now)
      return { type: 'service_account', id: read.service_account_id }
    },
    /** Where an account lives; it never moves. */
    homeOf,
  }
}
export type ServiceAccountGate = ReturnType<typeof serviceAccountGate>
