import { newId } from '../../../server/src/ground/kernel/ids.ts'
import { hashOf, newSecret } from '../../../server/src/machines/service-accounts/key-secret.ts'
import { seeded } from '../../live-server.ts'
import type { Ground } from '../revokes.ts'

/** A service account whose secret somebody else has got hold of. */
export interface Victim {
  readonly id: string
  readonly key_id: string
  readonly secret: string
}

export const home = { org_id: seeded.org.aurora, project_id: seeded.project.aurora }

/** One with a key and a role, past every endpoint: how it comes into being is not what is tried here. */
export const newVictim = async ({ sql }: Pick<Ground, 'sql'>): Promise<Victim> => {
  const victim = { id: newId('service_account'), key_id: newId('service_account_key'), secret: newSecret() }
  const { id, key_id, secret } = victim
  const { salt, secret_hash } = hashOf(secret)
  await sql(
    `with account as (
       insert into service_accounts (id, org_id, project_id, name, slug, created_at) values ($1, $2, $3, 'victim', $4, now()) returning id)
     insert into service_account_keys (id, service_account_id, salt, secret_hash, epoch, created_at, created_by)
     select $5, account.id, $6, $7, i.epoch, now(), $8 from account cross join installation i`,
    [id, home.org_id, home.project_id, `v-${id.slice(-12)}-${id.slice(0, 8)}`, key_id, salt, secret_hash, seeded.user('amara')],
  )
  await sql(
    `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
     select gen_random_uuid(), $1, 'service_account', $2, current_version_id, now()
       from role_definitions where name = 'project_member' and is_builtin`,
    [home.project_id, id],
  )
  return { id, key_id, secret: secret.reveal() }
}
