import { setTimeout as sleep } from 'node:timers/promises'
import type { Ground } from '../revokes.ts'
import type { Asking } from './line.ts'
import { home, type Victim } from './victim.ts'

/** A token that the attacker has: when it was asked for and got, and which key signed it. */
export interface Held {
  readonly token: string
  readonly jti: string
  readonly kid: string
  readonly sent_at: number
  readonly heard_at: number
}

/** What is done against the attacker, and what is over when it is answered. */
export interface Act {
  readonly kind: string
  /** The row that it leaves in the record, once. */
  readonly recorded: string
  /** Whether the credential, too, is good for nothing from then on. */
  readonly ends_minting: boolean
  readonly begin: (victim: Victim, first: Held) => Promise<Asking>
  /** Whether this token is over; `sent_at` is when the act was sent. */
  readonly isOver: (token: Held, first: Held, sent_at: number) => boolean
  /** Makes the place good again for the next round; no token of before may live again by it. */
  readonly restore?: Asking
}

const body = { reason: 'an attack' }
const project = `/projects/${home.project_id}`
const always = () => true
/** One that was asked for meanwhile may have been issued before it, or after. */
const wasIssued = ({ heard_at }: Held, _first: Held, sent_at: number) => heard_at <= sent_at

const cutOff = (kind: string, subject: (victim: Victim, first: Held) => object, isOver: Act['isOver'] = wasIssued): Act => ({
  kind,
  recorded: 'auth.token.revoke',
  ends_minting: false,
  begin: async (victim, first) => ({ method: 'POST', path: '/auth/tokens/revoke', body: { ...subject(victim, first), ...body } }),
  isOver,
})

const ending = (kind: string, recorded: string, method: string, path: (victim: Victim) => string, restore?: string): Act => ({
  kind,
  recorded,
  ends_minting: true,
  begin: async (victim) => ({ method, path: path(victim), body }),
  isOver: always,
  ...(restore === undefined ? {} : { restore: { method: 'POST', path: restore, body } }),
})

/** Another key must be there to take its place; it is made aside, and on a busy machine a little later. */
const signingKeyWithNext = async (sql: Ground['sql']): Promise<void> => {
  for (let tries = 0; tries < 200; tries += 1) {
    const rows = await sql(`select from signing_keys where state = 'staged'`)
    if (rows.length > 0) return
    await sleep(50)
  }
  throw new Error('there is no next signing key')
}

export const actsOn = ({ sql }: Pick<Ground, 'sql'>): Act[] => [
  ending(
    'credential revoked',
    'service_account.key.revoke',
    'DELETE',
    ({ id, key_id }) => `${project}/service-accounts/${id}/keys/${key_id}`,
  ),
  cutOff(
    'token revoked',
    (_victim, { jti }) => ({ token_id: jti }),
    (token, first) => token === first,
  ),
  cutOff('tokens of the credential cut off', ({ key_id }) => ({ credential_id: key_id })),
  cutOff('tokens of the actor cut off', ({ id }) => ({ actor: { type: 'service_account', id } })),
  cutOff('tokens of the project cut off', () => ({ project_id: home.project_id })),
  cutOff('tokens of the platform cut off', () => ({ platform: true })),
  ending('account disabled', 'service_account.disable', 'POST', ({ id }) => `${project}/service-accounts/${id}/disable`),
  ending('account deleted', 'service_account.delete', 'DELETE', ({ id }) => `${project}/service-accounts/${id}`),
  ending('project archived', 'project.archive', 'POST', () => `${project}/archive`, `${project}/restore`),
  ending('organization suspended', 'organization.suspend', 'POST', () => `/orgs/${home.org_id}/suspend`, `/orgs/${home.org_id}/resume`),
  {
    kind: 'signing key revoked',
    recorded: 'signing_key.revoke',
    ends_minting: false,
    begin: async (_victim, { kid }) => {
      await signingKeyWithNext(sql)
      return { method: 'POST', path: `/admin/signing-keys/${kid}/revoke`, body }
    },
    isOver: ({ kid }, first) => kid === first.kid,
  },
]
