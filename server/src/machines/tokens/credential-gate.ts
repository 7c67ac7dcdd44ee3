import { uuidPattern } from '@gatehouse/contract/shapes'
import type { FreshReader } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Machine } from '#ground/work/work.ts'
import { factsOf } from '#rails/authz/facts.ts'
import { wantStanding } from '#rails/authz/read-standings.ts'
import type { Standing } from '#rails/authz/standing.ts'
import type { Caller } from '#rails/http/answer.ts'
import { wantChain } from '#rails/policies/constraint-chain.ts'
import { policyIn, wantPolicy } from '#rails/policies/read-policy.ts'
import { endOfKey, type KeptKey, type Provable } from '../service-accounts/credential.ts'
import { type CredentialClass, type CredentialClassName, type Home, type Located, nowhere } from './credential-class.ts'
import type { IssuerParts, Verified } from './issue-token.ts'
import { keepFound } from './keep-found.ts'
import { type Owner, ownerOfCredential } from './owner-queries.ts'
import type { DenialRecorder } from './record-denial.ts'
import { readSlowDown, type SlowDownWrongs, type Wrong } from './slow-down.ts'

/** What all classes with secrets live by; a tenant or project may live by a shorter one. */
const own_limit = 'auth.service_account_token_ttl_seconds'
const max_ttl = 'auth.iam_token_issuer.max_ttl_seconds'
const audiences = 'auth.iam_token_issuer.allowed_audiences'
const scopes = 'auth.iam_token_issuer.allowed_scopes'
const [wantedMax, wantedAudiences, wantedScopes] = [wantPolicy(max_ttl), wantPolicy(audiences), wantPolicy(scopes)]

/** Which credential somebody says he has: of the actor that he names, or simply the credential. */
export interface Claimed {
  readonly key_id: string
  readonly actor_id?: string
}

/**
 * True, or why not in the words of the record: the caller is not told. False: the secret is wrong. What is good once is used up by the
 * function, false where somebody was first: it writes, and so it comes after the request has been counted.
 */
export type Proved = boolean | 'wrong_assertion' | (() => Promise<boolean>)
/** Whether he has it, found out with the same work whether or not there is such a credential. */
export type Prove = (credential: Provable | undefined, now: string) => Proved | Promise<Proved>

const isId = new RegExp(uuidPattern)

/** Whose credential it is; that never changes. */
export const keepOwners = ({ database: { reader } }: Pick<IssuerParts, 'database'>) => {
  const ownerOf = keepFound(reader, ownerOfCredential)
  return (key_id: string): Promise<Owner | undefined> => ownerOf(isId.test(key_id) ? key_id : nowhere)
}

/** What all gates of a process have together: guessing is slowed and recorded in one place. */
export interface GateParts extends IssuerParts {
  readonly denials: DenialRecorder
  readonly slow: SlowDownWrongs
  readonly ownerOf: ReturnType<typeof keepOwners>
}

/** Whether a credential of a class opens: one way for all who bring one. */
export const credentialGate = <C extends CredentialClassName, H extends Home, K extends KeptKey & Provable>(
  { database, keys, issuer, denials, slow, ownerOf }: GateParts,
  of: CredentialClass<C, H, K>,
) => {
  const nobody: Located<H> = { actor_id: nowhere, key_id: nowhere, home: of.nobodysHome }
  const none: ReadonlySet<string> = new Set()
  const homeOf = keepFound(database.reader, of.findHome)

  const actorOf = ({ actor_id: id, key_id: credential_id, home: { org_id: home_tenant_id } }: Located<H>): Machine<C> => ({
    ...{ type: of.type, id, credential_id, home_tenant_id },
  })

  const wantOfActor = (actor_id: string, { org_id: tenant_id, project_id }: H) => ({
    actor_id,
    standing: wantStanding(of.type, { actor_id, tenant_id, project_id }),
    own: wantPolicy(own_limit, { tenant_id, project_id }),
    rules: wantChain({ tenant_id, project_id }),
  })
  /** Beside the home that is kept: who asks often asks for the same each time, and to spell it out costs as much as to find it. */
  const wanted = new WeakMap<H, ReturnType<typeof wantOfActor>>()
  const wantedBy = ({ actor_id, home }: Located<H>) => {
    const known = wanted.get(home)
    if (known?.actor_id === actor_id) return known
    const made = wantOfActor(actor_id, home)
    wanted.set(home, made)
    return made
  }

  /** All that an issuance rests on, in one read. */
  const readAll = async (fresh: FreshReader, located: Located<H>) => {
    const of_actor = wantedBy(located)
    const { moment, values } = await fresh.read([
      of.wantCredential(located),
      of_actor.standing,
      keys.want(),
      of_actor.own,
      wantedMax,
      wantedAudiences,
      wantedScopes,
      of_actor.rules,
    ])
    const [credential, standing, key_set, own, longest, allowed_audiences, allowed_scopes, rules = []] = values
    return { ...located, moment, credential, standing, key_set, chains: { own, longest, allowed_audiences, allowed_scopes }, rules }
  }
  type Read = Awaited<ReturnType<typeof readAll>>

  /** As much of it as says whether a credential opens anything. */
  const readKey = async (fresh: FreshReader, located: Located<H>) => {
    const { moment, values } = await fresh.read([of.wantCredential(located), wantedBy(located).standing])
    return { ...located, moment, credential: values[0], standing: values[1] }
  }
  type ReadKey = Awaited<ReturnType<typeof readKey>>

  /** Why one whose secret is right does not open anything; null where it does. The caller is told none of it. */
  const endOf = (credential: K, standing: Standing | undefined, now: string): string | null =>
    endOfKey(credential, now) ?? of.endOf(credential, standing)

  const locate = async ({ key_id, actor_id }: Claimed): Promise<Located<H>> => {
    const owner = actor_id === undefined ? await ownerOf(key_id) : { type: of.type, id: actor_id }
    const id = owner?.type === of.type ? owner.id : nobody.actor_id
    const home = await homeOf(id)
    return home ? { actor_id: id, key_id, home } : nobody
  }

  /**
   * Always the same answer, however it came about, and ever later. Of a known credential it is recorded, which neither hastens the answer
   * nor delays it nor makes it another one.
   */
  const refuse = async (caller: Caller, key_id: string, came_at: number, read: ReadKey, { why, is_right }: Wrong): Promise<never> => {
    const figures = await readSlowDown(caller.fresh)
    const attempts = read.credential ? slow.countOf(key_id, { why, is_right }, figures) : null
    if (attempts !== null) {
      const { org_id, project_id } = read.home
      denials.writeAside(
        caller,
        { actor: actorOf(read), org_id, project_id, resource: of.boundTo(read, none).resources[0]! },
        // Nobody was verified, so nothing that the caller wrote goes into the record.
        { reason_code: 'token_invalid', why, request: {}, attempts },
      )
    }
    await slow.untilAnswered(key_id, caller.source_ip, came_at, figures)
    throw new Problem('token_invalid')
  }

  /** What was read, if the credential opens. */
  const opened = async <R extends ReadKey>(
    caller: Caller,
    claimed: Claimed,
    came_at: number,
    prove: Prove,
    readOf: (located: Located<H>) => Promise<R>,
  ): Promise<R & { readonly standing: Standing }> => {
    const read = await readOf(await locate(claimed))
    // Before anything is asked about the credential, and whether or not there is one.
    const proved = await prove(read.credential, read.moment.now)
    const end = read.credential ? endOf(read.credential, read.standing, read.moment.now) : 'unknown'
    const isRight = proved === true || typeof proved === 'function'
    if (!isRight) return refuse(caller, claimed.key_id, came_at, read, { why: proved || 'wrong_secret', is_right: false })
    if (end !== null) return refuse(caller, claimed.key_id, came_at, read, { why: end, is_right: true })
    await caller.identified(actorOf(read))
    if (proved !== true && !(await proved()))
      return refuse(caller, claimed.key_id, came_at, read, { why: 'used_assertion', is_right: true })
    return read as R & { standing: Standing }
  }

  const verified = (caller: Caller, read: Read & { readonly standing: Standing }): Verified<C> => {
    const { moment, key_set, chains, rules } = read
    const actor = actorOf(read)
    const place = of.placeOf(read)
    const facts = factsOf(read.standing, rules, {
      actor,
      place,
      resource_type: actor.type,
      attributes: { source_ip: caller.source_ip },
      now: moment.now,
    })
    return {
      actor,
      bound: of.boundTo(read, of.heldBy(facts)),
      binding: of.bindingOf(read),
      place,
      facts,
      policy: () => ({
        ttl_seconds: policyIn(own_limit, chains.own),
        max_ttl_seconds: policyIn(max_ttl, chains.longest),
        allowed_audiences: policyIn(audiences, chains.allowed_audiences),
        allowed_scopes: policyIn(scopes, chains.allowed_scopes),
        default_audience: issuer.audience,
      }),
      keys: key_set!,
      credential_ends_at: read.credential?.expires_at ?? null,
      moment,
    }
  }

  return {
    /** For an issuance, which may have to be judged more than once: everything that it rests on. */
    verifier: (caller: Caller, claimed: Claimed, prove: Prove) => {
      const came_at = performance.now()
      return async (fresh: FreshReader): Promise<Verified<C>> =>
        verified(caller, await opened(caller, claimed, came_at, prove, (located) => readAll(fresh, located)))
    },
    /** Only whose it is. */
    open: async (caller: Caller, claimed: Claimed, prove: Prove): Promise<{ readonly actor: Machine<C>; readonly now: string }> => {
      const read = await opened(caller, claimed, performance.now(), prove, (located) => readKey(caller.fresh, located))
      return { actor: actorOf(read), now: read.moment.now }
    },
    /** Where an actor lives; it never moves. */
    homeOf,
  }
}
