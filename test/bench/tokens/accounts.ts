import { randomBytes } from 'node:crypto'
import { newId } from '@gatehouse/server/ground/kernel/ids'
import { hashOf, newSecret } from '@gatehouse/server/machines/service-accounts/key-secret'
import { roleVersionIdOf } from '@gatehouse/server/rails/authz/catalogue'
import { peoplePerTenant, projectId, projectsPerTenant, tenantId, userId, type World } from '../decide/world.ts'

export interface Account {
  readonly id: string
  readonly key_id: string
  readonly secret: string
  readonly org_id: string
  readonly project_id: string
}

export const tenants = 200

const quoted = (...values: readonly string[]) => values.map((value) => `'${value}'`).join(', ')
const hex = (bytes: Buffer) => `\\x${bytes.toString('hex')}`

/** One more service account in a tenant, bound to a role in its project and with one key. */
export const addAccount = async (world: World, tenant: number, slug = `bench-${tenant}`): Promise<Account> => {
  const secret = newSecret()
  const { salt, secret_hash } = hashOf(secret)
  const account = {
    id: newId('service_account'),
    key_id: newId('service_account_key'),
    secret: secret.reveal(),
    org_id: tenantId(tenant),
    project_id: projectId(tenant * projectsPerTenant),
  }
  const { id, key_id, org_id, project_id } = account
  await world.sql(`insert into service_accounts (id, org_id, project_id, name, slug, created_at)
    values (${quoted(id, org_id, project_id, 'Bench', slug)}, now())`)
  await world.sql(`insert into service_account_keys (id, service_account_id, salt, secret_hash, epoch, created_at, created_by)
    select ${quoted(key_id, id, hex(salt), hex(secret_hash))}, epoch, now(), '${userId(tenant * peoplePerTenant)}' from installation`)
  const version = roleVersionIdOf('project_member')
  await world.sql(`insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, role_definition_id, created_at)
    select ${quoted(newId('binding'), project_id)}, 'service_account', '${id}', id, role_definition_id, now()
      from role_definition_versions where id = '${version}'`)
  return account
}

/** One account in each tenant. */
export const populate = async (world: World): Promise<Account[]> => {
  await world.growTo(tenants * peoplePerTenant)
  const accounts: Account[] = []
  for (let tenant = 0; tenant < tenants; tenant += 1) accounts.push(await addAccount(world, tenant))
  // Of the run alone: what a policy would allow a machine in a minute is not what is measured.
  await world.sql(`update policy_values set value = '10000000' where key like 'rate_limit.%' and replaced_at is null`)
  return accounts
}

/** The same number of clients for the peer, each with a secret that is as long. */
export const clientsLike = (accounts: readonly Account[]) =>
  accounts.map(({ id }) => ({ id, secret: randomBytes(32).toString('base64url') }))
