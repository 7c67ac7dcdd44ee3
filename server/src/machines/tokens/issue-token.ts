import type { Operation } from '@gatehouse/contract/operation'
import type { Database, Payer } from '#ground/db/database.ts'
import type { Fresh, FreshReader, Wanted } from '#ground/epochs/fresh.ts'
import { stampOf } from '#ground/epochs/moment.ts'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { type Machine, newTrail, type Trail } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import type { Caller } from '#rails/http/answer.ts'
import { requestHash, requireUnanswered } from '#rails/http/idempotency.ts'
import type { KeySet } from '../keys/key-set.ts'
import type { Sign } from '../keys/signer.ts'
import { type Binding, claimsOf, signedToken } from './claims.ts'
import { commitIssued, type Issuance } from './commit-issued.ts'
import type { TokenRow } from './issuing-queries.ts'
import { judged, type Refusals, Refusing, type ToBeJudged } from './judge-issuance.ts'
import type { LanePlaces } from './lanes.ts'
import type { LastUses } from './last-uses.ts'
import { type MachineClass, type TokenType, typeOf } from './machine-class.ts'
import type { DenialParts, DenialRecorder } from './record-denial.ts'
import { recordIssued } from './record-issued.ts'
import type { Bound, Grant, TokenRequest } from './token-policy.ts'

export interface IssuerParts extends DenialParts {
  readonly database: Database
  readonly fresh: Fresh
  readonly append: Append
  readonly keys: { readonly want: () => Wanted<KeySet>; readonly sign: Sign }
  readonly issuer: { readonly url: string; readonly audience: string }
}

/** Whose credential was verified, and all that was true at that moment. Every class has its own way to come to this; the rest is one way. */
export interface Verified<C extends MachineClass> extends ToBeJudged {
  /** Who asks. */
  readonly actor: Machine<C>
  readonly bound: Bound & { readonly actor_type: C }
  readonly binding: Binding<C>
  readonly keys: KeySet
}

/** How the token shows itself, where not as its class does; and how its refusals are called. */
export interface Profile {
  readonly typ: TokenType
  /** What it says beyond what its class says. */
  readonly more: Readonly<Record<string, unknown>>
  /** The key whose holder alone may use it (RFC 9449); null: whoever has it may. */
  readonly cnf_jkt: string | null
  readonly refusals: Refusals
}

export interface Asked<C extends MachineClass> {
  readonly operation: Operation
  readonly request: TokenRequest & { readonly reason?: string; readonly source_workflow_id?: string }
  /** The request without its secret: what makes it the same request when it comes again. */
  readonly same_by: unknown
  /** Verifies the credential by what is so now; throws if it does not hold. */
  readonly verify: (fresh: FreshReader) => Promise<Verified<C>>
  readonly profile?: Profile
}

const reasonOf = ({ code, details }: Problem): string => (details as { reason_code?: string } | undefined)?.reason_code ?? code

/** Seconds since 1970 as the database and the answer spell them. */
const instantOf = (seconds: number): string => new Date(seconds * 1000).toISOString()

const most_tries = 4

/** One try for a caller: what is recorded of it, and who pays for it. */
interface Attempt {
  readonly caller: Caller
  readonly trail: Trail
  readonly payer: Payer
}

const charged = <T>(payer: Payer, act: () => T): T => {
  const from = performance.now()
  try {
    return act()
  } finally {
    payer.charge(performance.now() - from)
  }
}

/**
 * The one issuer: whatever the class, a verified credential is judged, a token is signed, and nobody sees it before its row and its
 * record are committed in the state that it was judged in. There is no other place that makes one.
 */
export const tokenIssuer = (parts: IssuerParts, denials: DenialRecorder, uses: LastUses, places: LanePlaces) => {
  const {
    database,
    fresh,
    keys: { sign },
    issuer,
  } = parts
  const commit = commitIssued(parts, uses, places)

  const signed = async <C extends MachineClass>(
    { caller, trail, payer }: Attempt,
    { actor, bound, binding, keys, moment, exchange }: Verified<C>,
    { request, profile }: Asked<C>,
    { audience, scope, ttl_seconds }: Grant,
  ) => {
    const { signing, installation_epoch } = keys
    if (!signing) throw new Problem('dependency_unavailable', undefined, new Error('there is no key to sign with'))
    const jti = newId('token')
    const cnf_jkt = profile?.cnf_jkt ?? null
    const parent = exchange && 'parent' in exchange ? exchange.parent : null
    const act = parent?.act ?? null
    const issued_at = moment.now
    const claims = claimsOf({
      actor_type: bound.actor_type,
      actor_id: bound.actor_id,
      issuer: issuer.url,
      audience,
      issued_at,
      ttl_seconds,
      jti,
      scope,
      binding,
      ...(profile && { more: { ...profile.more, ...(cnf_jkt === null ? {} : { cnf: { jkt: cnf_jkt } }), ...(act && { act }) } }),
    })
    const typ = profile?.typ ?? typeOf[bound.actor_type]
    const access_token = await signedToken(sign, signing, typ, claims)
    const expires_at = instantOf(claims.exp)
    const { source_workflow_id, reason } = request
    const row: TokenRow = {
      id: jti,
      actor_type: bound.actor_type,
      actor_id: bound.actor_id,
      credential_id: actor.credential_id,
      parent_id: parent?.id ?? null,
      org_id: bound.org_id,
      project_id: bound.project_id,
      // What has no column of its own.
      binding: Object.fromEntries(Object.entries(binding).filter(([claim]) => claim !== 'org_id' && claim !== 'project_id')),
      typ,
      kid: signing.kid,
      audience,
      scope,
      cnf_jkt,
      act,
      epoch: installation_epoch,
      issued_at,
      expires_at,
      source_workflow_id: source_workflow_id ?? null,
      reason: reason ?? null,
    }
    recordIssued(trail, row, actor, bound.resources[0]!)
    const issuance: Issuance = {
      row,
      stamp: stampOf(moment, bound.org_id),
      payer,
      doing: { actor, correlation_id: caller.correlation_id, source_ip: caller.source_ip, trail },
    }
    const reply = {
      credential_type: 'jwt_bearer' as const,
      token_type: cnf_jkt === null ? ('Bearer' as const) : ('DPoP' as const),
      access_token,
      expires_in_seconds: ttl_seconds,
      expires_at,
      scope: claims.scope,
      issued_claims_summary: claims,
      credential_session_id: jti,
    }
    return { issuance, reply }
  }

  const deny = (
    { caller, trail, payer }: Attempt,
    { actor, bound }: Verified<MachineClass>,
    request: Asked<MachineClass>['request'],
    { problem, why }: Refusing,
  ) => {
    return denials.write(
      caller,
      { actor, org_id: bound.org_id, project_id: bound.project_id, resource: bound.resources[0]! },
      {
        reason_code: reasonOf(problem),
        why,
        request,
        subject_id: bound.actor_id,
        ...(trail.asked[0] ? { decision_id: trail.asked[0].decision_id } : {}),
      },
      payer,
    )
  }

  /** Once for a request: it is counted, its tenant has a turn, and its key was not used before. */
  const admitted = async (caller: Caller, { actor, place }: Verified<MachineClass>, hash: string): Promise<Payer> => {
    await caller.identified(actor)
    // The place of who asks. In an exchange the subject is of the same.
    const payer = await caller.turnOf(place.tenant_id ?? actor.id)
    const key = caller.idempotency_key
    if (key !== undefined) await requireUnanswered(database.reader, actor, key, hash)
    return payer
  }

  return async <C extends MachineClass>(caller: Caller, asked: Asked<C>) => {
    const { operation, request, same_by, verify, profile } = asked
    const key = caller.idempotency_key
    const hash = key === undefined ? '' : requestHash(operation, { params: {}, query: {}, body: same_by })
    let payer: Payer | undefined
    for (let attempt = 1; attempt <= most_tries; attempt += 1) {
      // What was proved for the first try is what turned out to be no longer so.
      const verified = await verify(attempt === 1 ? caller.fresh : fresh.forRequest())
      payer ??= await admitted(caller, verified, hash)
      const trail = newTrail()
      try {
        const grant = charged(payer, () => judged(trail, verified, request, profile?.refusals))
        const { issuance, reply } = await signed({ caller, trail, payer }, verified, asked, grant)
        const is_committed = key === undefined ? await commit.one(issuance) : await commit.once(issuance, { operation, key, hash, reply })
        if (!is_committed) continue
        caller.trail.asked.push(...trail.asked)
        caller.trail.events.push(...trail.events)
        return reply
      } catch (error) {
        if (!(error instanceof Refusing)) throw error
        caller.trail.asked.push(...trail.asked)
        await deny({ caller, trail, payer }, verified, request, error)
        throw error.problem
      }
    }
    throw new Problem('dependency_unavailable', undefined, new Error('what the token rests on changed with each try'))
  }
}
export type TokenIssuer = ReturnType<typeof tokenIssuer>
