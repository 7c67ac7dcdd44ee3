import { newId } from '#ground/kernel/ids.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { readPolicy } from '#rails/policies/read-policy.ts'
import { foundOrganization } from '../tenancy/found-organization.ts'
import { foundProject } from '../tenancy/found-project.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import type { HumanClaims } from './oidc/human-tokens.ts'
import { reachable } from './stated-address.ts'
import { insertUser, userBySubject } from './user-queries.ts'

const all = async (questions: TenancySubscribers['canBeFounded'], work: Work): Promise<boolean> => {
  for (const question of questions) if (!(await question(work))) return false
  return true
}

/**
 * Somebody nobody has seen before gets a record and, where policy says so, a personal organization with a `default` project. What the provider
 * claims about roles is not heard. While an owner role is disabled they get the record alone: a sign-in must not fail because of it.
 */
export const welcome = async (work: Work, claims: HumanClaims, subscribers: TenancySubscribers): Promise<string> => {
  const id = newId('user')
  const proof = systemProof('first_sign_in', 'platform.admin', {})
  const username = claims.username ?? `user-${id.slice(-12)}`
  const { issuer, subject, email_verified } = claims
  const email = reachable(claims.email)
  const said_at = email === null ? null : claims.issued_at
  const user = await work.tx.maybe(
    insertUser(proof, { id, username, email, email_verified, said_at, issuer, subject, is_seeded: false }, work.now),
  )
  // A concurrent first request won; it has made everything.
  if (!user) return (await work.tx.one(userBySubject(issuer, subject))).id

  const is_wanted = await readPolicy(work.tx, 'tenancy.personal_organizations')
  const is_founded = is_wanted && (await all(subscribers.canBeFounded, work))
  const metadata = is_wanted && !is_founded ? { issuer, personal_organization: 'role_not_assignable' } : { issuer }
  record(work, { action: 'user.create', resource_type: 'user', resource_id: id, metadata })
  if (is_founded) await foundPersonal(work, id, username, subscribers)
  return id
}

const foundPersonal = async (work: Work, id: string, username: string, subscribers: TenancySubscribers): Promise<void> => {
  const proof = systemProof('first_sign_in', 'platform.admin', {})
  const ownership = { owner_user_id: id, reason: 'first sign-in', severity: 'info' } as const
  const slug = `personal-${id.slice(-12)}`
  const organization = await foundOrganization(
    work,
    proof,
    { id: newId('org'), type: 'personal', name: `${[...username].slice(0, 80).join('')} (personal)`, slug, ...ownership },
    subscribers,
  )
  const place = systemProof('first_sign_in', 'tenant.project.create', organization)
  await foundProject(work, place, { id: newId('project'), name: 'Default', slug: 'default', ...ownership }, subscribers)
}
