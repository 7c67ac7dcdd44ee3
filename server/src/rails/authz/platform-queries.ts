import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'
import { platformRoleSource } from './standing-queries.ts'

/**
 * Taken before anybody's authority over the platform is judged and changed, so that two such changes happen one after the other:
 * two superadmins who end each other cannot both succeed.
 */
export const lockPlatform = () => sql(Exactly({ locked: Type.Literal(true) }))`
  select true as locked from pg_advisory_xact_lock(7290433)`

/**
 * Who has this role, the highest of the platform, and is not disabled: by the source that is in force, or by bindings where it cannot be
 * read, since those are what an operator goes back to. Whoever asks holds the platform's lock.
 */
export const platformHolders = (role_id: string) => sql(Exactly({ id: Type.String() }))`
  select u.id
    from users u
    left join lateral (
      select bool_or(b.deleted_at is null and b.role_definition_id = ${role_id}) as is_bound
        from platform_role_bindings b where b.principal_type = 'user' and b.principal_id = u.id) binding on true
   where u.disabled_at is null
     and case (select v.value #>> '{}' from policy_values v
                where v.key = ${platformRoleSource} and v.scope_type = 'global' and v.replaced_at is null)
           when 'users_role' then u.role = 'admin'
           -- Null: he was never bound at all.
           when 'transition' then coalesce(binding.is_bound, u.role = 'admin')
           else coalesce(binding.is_bound, false)
         end`
