import { record } from '../audit/record.ts'
import { systemProof } from '../authz/authorize.ts'
import { newId } from '../kernel/ids.ts'
import { readPolicy } from '../policies/read-policy.ts'
import { foundOrganization } from '../tenancy/found-organization.ts'
import { foundProject } from '../tenancy/found-project.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import type { Work } from '../work/work.ts'
import type { HumanClaims } from './oidc/human-tokens.ts'
import { type Addressed, insertUser, setAddress, userBySubject } from './user-queries.ts'

// Some providers put placeholders there; nobody can be reached by them.
const reachable = (email: string | null): string | null => (email !== null && [...email].length >= 3 ? email : null)

/** Whether the provider says something else of the person's address than we hold. A token that says nothing of it changes nothing. */
export const isMoved = (known: Addressed, { email, email_verified }: HumanClaims): boolean => {
  const said = reachable(email)
  return said !== null && (said !== known.email || email_verified !== known.email_verified)
}

/** Takes over the address that the provider vouches for now: an invitation to the old one is not for this person any more. */
export const moveAddress = async (work: Work, { id }: Addressed, claims: HumanClaims): Promise<void> => {
  const proof = systemProof('sign_in', 'platform.admin', {})
  await work.tx.one(setAddress(proof, id, reachable(claims.email)!, claims.email_verified))
  record(work, { action: 'user.address', resource_type: 'user', resource_id: id, metadata: { email_verified: claims.email_verified } })
}

/**
 * Somebody nobody has seen before gets a record and, where policy says so, a personal organization with a `default` project. What the provider
 * claims about roles is not heard.
 */
export const welcome = async (work: Work, claims: HumanClaims, subscribers: TenancySubscribers): Promise<string> => {
  const id = newId('user')
  const proof = systemProof('first_sign_in', 'platform.admin', {})
  const username = claims.username ?? `user-${id.slice(-12)}`
  const { issuer, subject, email_verified } = claims
  const email = reachable(claims.email)
  const user = await work.tx.maybe(insertUser(proof, { id, username, email, email_verified, issuer, subject, is_seeded: false }, work.now))
  // A concurrent first request won; it has made everything.
  if (!user) return (await work.tx.one(userBySubject(issuer, subject))).id

  record(work, { action: 'user.create', resource_type: 'user', resource_id: id, metadata: { issuer } })
  if (await readPolicy(work.tx, 'tenancy.personal_organizations')) await foundPersonal(work, id, username, subscribers)
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
