import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { openDatabase } from '#ground/db/database.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { fixedId, newId } from '#ground/kernel/ids.ts'
import { systemWork, type Work } from '#ground/work/work.ts'
import { insertUser, moveSeededUsers, setUsersRole, userBySubject } from '#people/principals/user-queries.ts'
import { insertPlatformBinding, insertProjectBinding, insertTenantBinding } from '#people/roles/binding-queries.ts'
import { foundOrganization } from '#people/tenancy/found-organization.ts'
import { foundProject } from '#people/tenancy/found-project.ts'
import { insertProjectMembership, insertTenantMembership } from '#people/tenancy/membership-queries.ts'
import { appendWith } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { isBuiltinRole, ownerRoleOf, roleIdOf, roleVersionIdOf } from '#rails/authz/catalogue.ts'
import people from '../../../db/seed/people.json' with { type: 'json' }
import { tenancySubscribers } from './wiring.ts'

interface Person {
  username: string
  platform_role?: string
  tenant?: string
  tenant_role?: string
  project_role?: string
}

const idOf = ({ username }: Person) => fixedId('user', username)
const named = (name: string | undefined) => {
  if (name === undefined || !isBuiltinRole(name)) throw new Error(`people.json names a role that does not exist: ${name}`)
  return name
}

const seedPerson = async (work: Work, person: Person, issuer: string) => {
  const proof = systemProof('development_seed', 'platform.admin', {})
  const { username, tenant = 'gatehouse' } = person
  const email = `${username}@${tenant}.example`
  await work.tx.maybe(
    insertUser(
      proof,
      { id: idOf(person), username, email, email_verified: true, said_at: null, issuer, subject: username, is_seeded: true },
      work.now,
    ),
  )
  if (!person.platform_role) return
  await work.tx.one(insertPlatformBinding(proof, newId('binding'), idOf(person), roleIdOf(named(person.platform_role)), null, work.now))
  // As a binding by the API would leave it: the two places of a platform role agree.
  if (person.platform_role === ownerRoleOf.platform) await work.tx.one(setUsersRole(proof, idOf(person), 'admin'))
}

const seedTenant = async (work: Work, { slug, name, project }: (typeof people.tenants)[number], members: readonly Person[]) => {
  const proof = systemProof('development_seed', 'platform.admin', {})
  const because = { reason: 'development seed', severity: 'info' } as const
  const owner = members.find(({ tenant_role }) => tenant_role === ownerRoleOf.tenant)!
  const projectOwner = members.find(({ project_role }) => project_role === ownerRoleOf.project)!
  const founding = { id: fixedId('org', slug), type: 'enterprise', name, slug, owner_user_id: idOf(owner), ...because } as const
  const organization = await foundOrganization(work, proof, founding, tenancySubscribers)
  const founded = systemProof('development_seed', 'platform.admin', organization)
  for (const member of members.filter((each) => each !== owner)) {
    await work.tx.one(insertTenantMembership(founded, newId('membership'), idOf(member), null, work.now))
    const version = roleVersionIdOf(named(member.tenant_role))
    await work.tx.one(insertTenantBinding(founded, newId('binding'), idOf(member), version, null, work.now))
  }
  const place = systemProof('development_seed', 'tenant.project.create', organization)
  const opening = { id: fixedId('project', `${slug}/${project.slug}`), ...project, owner_user_id: idOf(projectOwner), ...because }
  const opened = systemProof('development_seed', 'tenant.project.create', await foundProject(work, place, opening, tenancySubscribers))
  for (const member of members.filter((each) => each.project_role && each !== projectOwner)) {
    await work.tx.one(insertProjectMembership(opened, newId('membership'), idOf(member), null, work.now))
    const version = roleVersionIdOf(named(member.project_role))
    await work.tx.one(insertProjectBinding(opened, newId('binding'), idOf(member), version, null, work.now))
  }
}

const seedEverybody = async (work: Work, everybody: readonly Person[], issuer: string) => {
  for (const person of everybody) await seedPerson(work, person, issuer)
  for (const tenant of people.tenants)
    await seedTenant(
      work,
      tenant,
      everybody.filter((person) => person.tenant === tenant.slug),
    )
}

/**
 * The people of the development world: one for each built-in role, in two tenants. Done once; a second call changes nothing but
 * the issuer, where that has moved.
 */
export const seedDevelopment = async ({
  databaseUrl,
  issuer,
  keys,
}: {
  databaseUrl: string
  issuer: string
  keys: string
}): Promise<void> => {
  const database = openDatabase({ url: databaseUrl, max_connections: 1 })
  try {
    const key = await auditKey(database, parseKeyRing(keys))
    await database.transaction('write', async (tx) => {
      const everybody: readonly Person[] = people.people
      if (await tx.maybe(userBySubject(issuer, everybody[0]!.username))) return
      const work = systemWork(tx, 'development_seed', newId('correlation'))
      const moved = await tx.many(moveSeededUsers(systemProof('development_seed', 'platform.admin', {}), issuer))
      if (moved.length === 0) await seedEverybody(work, everybody, issuer)
      record(work, {
        action: moved.length === 0 ? 'development.seed' : 'development.move',
        resource_type: 'platform',
        resource_id: 'platform',
        metadata: { people: everybody.length },
      })
      await appendWith({ region: 'local', key })(work)
    })
  } finally {
    await database.close()
  }
}
