import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Payer } from '#ground/db/database.ts'
import { type Machine, newTrail, type Work } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { askedWord } from '#rails/http/asked-ids.ts'
import { issuing_patience_ms, type Job, type LanePlaces, tenantLanes, type Way } from './lanes.ts'
import { normaliseScope } from './normalise-scope.ts'
import type { TokenRequest } from './token-policy.ts'

/** Whose credential it was, where that is known from the record. */
export interface Refused {
  readonly actor: Machine
  readonly org_id: string
  readonly project_id: string | null
  readonly resource: { readonly type: string; readonly id: string }
}

export interface Denial {
  readonly reason_code: string
  /** In more detail than the caller is told. */
  readonly why: string
  /**
   * What was asked for. Of the scope only keys of ours are recorded, of the audience what looks like a name: what else a caller writes there
   * may be a secret that took a wrong turn. The reason and the workflow are meant for the record.
   */
  readonly request: TokenRequest & { readonly source_workflow_id?: string; readonly reason?: string }
  /** The subject of the wanted token, where it is not the caller: in a token exchange. */
  readonly subject_id?: string
  readonly decision_id?: string
  /** How many wrong secrets the key has had by now. */
  readonly attempts?: number
}

type Asker = Pick<Work, 'correlation_id' | 'source_ip'>

/** What the request named, whatever the credential is bound to. */
const askedIn = ({ audience, scope, org_id, project_id, resource_type, resource_id }: TokenRequest) =>
  Object.fromEntries(
    Object.entries({
      asked_audience: audience === undefined ? undefined : askedWord(audience),
      asked_scope: scope === undefined ? undefined : normaliseScope(scope).join(' '),
      asked_org_id: org_id,
      asked_project_id: project_id,
      asked_resource_type: resource_type === undefined ? undefined : askedWord(resource_type),
      asked_resource_id: resource_id,
    }).filter(([, value]) => value !== undefined),
  )

const eventOf = (
  { source_ip }: Asker,
  { actor, org_id, project_id, resource }: Refused,
  { reason_code, why, request, subject_id, decision_id, attempts }: Denial,
): Parameters<typeof record>[1] => ({
  action: 'auth.token.deny',
  resource_type: actor.type,
  resource_id: actor.id,
  tenant_id: org_id,
  project_id,
  result: 'denied',
  reason_code,
  severity: 'warning',
  metadata: {
    why,
    actor_type: actor.type,
    actor_id: actor.id,
    requested_actor_type: request.actor_type ?? actor.type,
    requested_actor_id: request.actor_id ?? subject_id ?? actor.id,
    key_id: actor.credential_id,
    // As in the row of an issuance, these say what was issued: nothing. What was asked for stands under its own names.
    audience: null,
    scope: null,
    resource_type: resource.type,
    resource_id: resource.id,
    expires_at: null,
    credential_type: 'jwt_bearer',
    // By which address the guesses are slowed: behind a trusted proxy the client's own.
    source_ip,
    ...askedIn(request),
    ...(request.source_workflow_id === undefined ? {} : { source_workflow_id: request.source_workflow_id }),
    ...(request.reason === undefined ? {} : { reason: request.reason }),
    ...(decision_id === undefined ? {} : { decision_id }),
    ...(attempts === undefined ? {} : { attempts }),
  },
})

interface Recording extends Job {
  readonly by: Asker
  readonly refused: Refused
  readonly denial: Denial
  /** Nobody pays where nobody was verified. */
  readonly payer: Payer | undefined
}

export interface DenialParts {
  readonly database: Database
  readonly append: Append
  /** A record is late, and goes on being tried; or it is lost. */
  readonly onUnrecorded?: (what: 'late' | 'lost', error: unknown) => void
  /** How long one try may take. */
  readonly patience_ms?: number
}

/** All of them are of one tenant, so any one's account is that of all. */
const payerOf = (jobs: readonly Recording[]): { payer?: Payer } => {
  const payer = jobs.find((job) => job.payer)?.payer
  return payer ? { payer } : {}
}

/** So long a record is tried that nobody waits for; so many of these there are at a time. */
const perseverance_ms = 60_000
const most_aside = 5000

/**
 * Writes that tokens were refused into the tenants' own logs: in transactions of their own, and each tenant's apart. The places are shared with those who
 * issue, because both wait for the same chains.
 */
export const denialRecorder = (
  { database, append, onUnrecorded = () => {}, patience_ms = issuing_patience_ms }: DenialParts,
  places: LanePlaces,
) => {
  const lanes = tenantLanes(places)
  const aside = new Set<Promise<void>>()
  let isClosing = false

  const way: Way<Recording> = {
    attempt: async (jobs, lock_wait_ms, outcomes) => {
      await database.transaction(
        'write',
        async (tx) => {
          const works = jobs.map(({ by, refused, denial }): Work => {
            const { correlation_id, source_ip } = by
            const work = { actor: refused.actor, correlation_id, source_ip, now: tx.now, tx, trail: newTrail() }
            record(work, eventOf(by, refused, denial))
            return work
          })
          await append(...(works as [Work, ...Work[]]))
        },
        { lock_wait_ms, ...payerOf(jobs) },
      )
      for (const job of jobs) outcomes.set(job, { is_committed: true })
    },
    most_jobs: 64,
    most_runs: 1,
  }

  const write = (by: Asker, refused: Refused, denial: Denial, payer?: Payer): Promise<void> =>
    lanes.within(refused.org_id, async (lane) => {
      const outcome = await lanes.alone(way, { by, refused, denial, payer, lane, until: performance.now() + patience_ms })
      if ('error' in outcome) throw outcome.error
    })

  const persevere = async (by: Asker, refused: Refused, denial: Denial): Promise<void> => {
    const until = performance.now() + perseverance_ms
    for (let attempt = 1; ; attempt += 1)
      try {
        return await write(by, refused, denial)
      } catch (error) {
        if (isClosing || performance.now() > until) return onUnrecorded('lost', error)
        if (attempt === 1) onUnrecorded('late', error)
        await pause(500)
      }
  }

  return {
    /** He is told only when it is recorded. */
    write,
    /** For whom what he is told, and when, must not depend on whether there is anything to record. */
    writeAside: (by: Asker, refused: Refused, denial: Denial): void => {
      if (aside.size >= most_aside) {
        onUnrecorded('lost', new Error('too many refusals wait to be recorded'))
        return
      }
      const writing = persevere(by, refused, denial).finally(() => aside.delete(writing))
      aside.add(writing)
    },
    /** When all that waits now is written, or lost. */
    settled: async (): Promise<void> => {
      await Promise.all(aside)
    },
    /** The same, and from now on nothing is tried a second time. */
    close: async (): Promise<void> => {
      isClosing = true
      await Promise.all(aside)
    },
  }
}
export type DenialRecorder = ReturnType<typeof denialRecorder>
