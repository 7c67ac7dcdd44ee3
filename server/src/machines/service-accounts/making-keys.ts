import type { PublicJwk, ServiceAccount, ServiceAccountKey } from '@gatehouse/contract/service-accounts'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { requireWithinCeiling } from '#people/roles/ceiling.ts'
import { authorityOf } from '#rails/authz/authorize.ts'
import { readStandingsOf } from '#rails/authz/read-standings.ts'
import { heldAt } from '#rails/authz/standing.ts'
import { requireRoom } from '#rails/policies/require-room.ts'
import type { AccountsOf } from './account-queries.ts'
import { countLiveKeys, findKey, insertKey } from './key-queries.ts'
import { hashOf, newSecret } from './key-secret.ts'
import { registeredKeyOf } from './registered-key.ts'

type Making = AccountsOf<'project.service_account.key.create'>

/** Whoever has the key can be the account: all that it can do, or could again if its role were enabled, must be his to give. */
const requireAuthority = async (work: Work, project: Making, account: ServiceAccount): Promise<void> => {
  const place = { actor_id: account.id, tenant_id: project.org_id, project_id: project.id }
  const [standing] = await readStandingsOf(work.tx, 'service_account', [place])
  const { allowed, by_disabled } = heldAt(standing!, work.now).project
  requireWithinCeiling(authorityOf(project), 'project', [...allowed, ...by_disabled])
}

interface Wish {
  readonly public_jwk?: PublicJwk
  readonly expires_at?: string
  /** How many end together with this. */
  readonly freed: number
}

/** A new key: one that was brought, or one with a secret that nobody will see again. */
export const makeKey = async (
  work: Work,
  project: Making,
  account: ServiceAccount,
  { public_jwk, expires_at, freed }: Wish,
): Promise<ServiceAccountKey & { client_secret?: string; credential_session_id: string }> => {
  if (expires_at !== undefined && expires_at <= work.now)
    throw new Problem('validation_error', [{ in: 'body', field: 'expires_at', message: 'must lie in the future' }])
  await requireAuthority(work, project, account)
  // The organization is locked: nobody counts at the same time.
  const { count } = await work.tx.one(countLiveKeys(account.id))
  await requireRoom(work.tx, 'auth.service_account_max_keys', count - freed, { tenant_id: project.org_id, project_id: project.id })
  const id = newId('service account key')
  const secret = public_jwk ? undefined : newSecret()
  const kept = secret ? hashOf(secret) : registeredKeyOf(public_jwk!)
  const made = { id, service_account_id: account.id, kept, expires_at: expires_at ?? null }
  await work.tx.one(insertKey(project, made, work.actor.id, work.now))
  const key = await work.tx.one(findKey(project.id, account.id, id))
  return { ...key, ...(secret ? { client_secret: secret.reveal() } : {}), credential_session_id: id }
}
