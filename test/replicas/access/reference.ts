import type { Sql } from '../../faults/replay/room.ts'

/** What must be on a node, worked out anew from the rules: from who belongs, who owns and whose key it is, and not from how sets are made. */
export interface Wanted {
  readonly id: string
  readonly state: string
  readonly node_id: string | null
  readonly fingerprints: readonly string[]
}

export const wantedSets = (sql: Sql, allocation_ids: readonly string[]): Promise<Wanted[]> =>
  sql<Wanted>(
    `with belonging as (
       select p.id as project_id, u.id as user_id
         from projects p, organizations o, users u
        where o.id = p.org_id and o.state = 'active' and o.deleted_at is null and p.state = 'active' and u.disabled_at is null
          and exists (select from tenant_memberships t where t.tenant_id = o.id and t.user_id = u.id and t.deleted_at is null)
          and exists (select from project_memberships m where m.project_id = p.id and m.user_id = u.id and m.deleted_at is null)
     )
     select a.id, a.state, a.node_id, array(
         select distinct k.fingerprint from ssh_public_keys k
          where a.state = 'active' and k.deleted_at is null and (
            k.id in (select g.ssh_key_id from allocation_access_grants g join belonging b on b.project_id = a.project_id and b.user_id = g.grantee_user_id
                      where g.allocation_id = a.id and k.user_id = g.grantee_user_id and g.ended_at is null
                        and coalesce(g.expires_at > clock_timestamp(), true))
            or k.id in (select e.ssh_key_id from allocation_ssh_public_keys e
                         where e.allocation_id = a.id and e.ended_at is null
                           and (k.project_id = a.project_id
                                or exists (select from belonging b where b.project_id = a.project_id and b.user_id = k.user_id and b.user_id = a.owner_user_id))))
          order by k.fingerprint) as fingerprints
       from allocations a where a.id = any ($1::uuid[])`,
    [allocation_ids],
  )
