import { uuidPattern } from '@gatehouse/contract/shapes'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { thePlatform } from '#rails/authz/kind.ts'
import { lockPlatform } from '#rails/authz/platform-queries.ts'
import { bindPlatformRole, unbindPlatformRole } from './platform-bindings.ts'
import { type Person, peopleMeant } from './platform-people-queries.ts'
import { platformBindingTo } from './role-binding-queries.ts'
import { sharePlatformRole } from './role-queries.ts'

/** An order that does not say clearly enough who is meant. */
class OrderRefused extends Error {
  override readonly name = 'OrderRefused'
}

/** What somebody with the installation's own keys and database password orders. */
export interface PlatformOrder {
  readonly user: string
  readonly role_name: string
  readonly reason: string
  readonly operator: string
}

const isUuid = new RegExp(uuidPattern)
const nameOf = ({ id, username, oidc_issuer, oidc_subject }: Person) => `${username} (${id}, ${oidc_issuer}#${oidc_subject})`

const isAddress = (text: string) => !isUuid.test(text) && !text.includes('#')

const meant = (text: string) => {
  if (isUuid.test(text)) return peopleMeant(text, null, null, null)
  if (isAddress(text)) return peopleMeant(null, text, null, null)
  // An issuer is a URL without a fragment, so the first such sign ends it.
  const [issuer = '', ...subject] = text.split('#')
  return peopleMeant(null, null, issuer, subject.join('#'))
}

/** Exactly one person, or nobody: an address that several have, or that its provider has not verified, names nobody for sure. */
const requirePerson = async (work: Work, text: string): Promise<Person> => {
  const [person, ...others] = await work.tx.many(meant(text))
  if (!person) throw new OrderRefused(`Nobody is known as ${text}; a person becomes known by signing in once.`)
  if (others.length > 0)
    throw new OrderRefused(`Several are known as ${text}; name one by id or issuer#subject: ${[person, ...others].map(nameOf).join(', ')}.`)
  if (isAddress(text) && !person.email_verified)
    throw new OrderRefused(`The address of ${nameOf(person)} is not verified by the provider; name the person by id or issuer#subject.`)
  return person
}

/** The platform's lock comes first, as in every change of who may administer it. */
const begin = async (work: Work, { user }: PlatformOrder) => {
  await work.tx.one(lockPlatform())
  return { platform: systemProof('operator_script', 'platform.admin', thePlatform), person: await requirePerson(work, user) }
}

/** Answers whom it bound. */
export const bindByOrder = async (work: Work, order: PlatformOrder): Promise<string> => {
  const { platform, person } = await begin(work, order)
  const { role_name, reason, operator } = order
  await bindPlatformRole(work, platform, { user_id: person.id, role_name, reason, operator })
  return nameOf(person)
}

/** Answers whose binding it ended. */
export const unbindByOrder = async (work: Work, order: PlatformOrder): Promise<string> => {
  const { platform, person } = await begin(work, order)
  const role = await work.tx.maybe(sharePlatformRole(null, order.role_name))
  if (!role) throw new Problem('role_not_found')
  const binding = await work.tx.maybe(platformBindingTo(person.id, role.id))
  if (!binding) throw new Problem('binding_not_found')
  await unbindPlatformRole(work, platform, binding.id, order.reason, order.operator)
  return nameOf(person)
}
