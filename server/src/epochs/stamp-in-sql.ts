import { sqlPart } from '../db/statement.ts'
import { platformScope } from './moment.ts'

/** What `stampOf` says of a tenant in a moment, as a statement says it of its own: for one that has something else to do as well. */
export const stampInSql = (tenant_id: `${string}.${string}`) =>
  sqlPart(`(coalesce((select p.stamp::text from epochs p where p.id = '${platformScope}'), '-')
    || case when ${tenant_id} is null then '' else ' ' || coalesce((select e.stamp::text from epochs e where e.id = ${tenant_id}), '-') end)`)
