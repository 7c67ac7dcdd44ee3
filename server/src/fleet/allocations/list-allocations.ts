import type { listAllocations as Op } from '@gatehouse/contract/allocations'
import { projectKind } from '#people/tenancy/project.ts'
import { findProject } from '#people/tenancy/project-queries.ts'
import { authorize, authorizedAmong, isAllowedButForRules } from '#rails/authz/authorize.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { seenIn } from '#rails/http/seen-page.ts'
import { allocationKind, type WaitingRow } from './allocation.ts'
import { allocationsIn } from './allocation-queries.ts'
import { allocationsOf, projectNamed } from './allocation-scope.ts'
import { listedOf } from './shown-allocation.ts'

/** What is asked about where there is nothing to show: nothing, nowhere. */
const none = { region: '', sku: '', gpus: 0 }

/** A project as a thing of the kind that is on the list. */
const listKind = { ...projectKind, type: allocationKind.type }

/** Exactly those that a single read would show. A rule may hide some by their shape, and so the list is judged by what it shows. */
export const listAllocations: Answering<typeof Op> = async (work, { query, slice, project_header }) => {
  const project_id = projectNamed(work, { project_header, named: query, where: 'query' })
  const found = await work.tx.maybe(findProject(project_id))
  let hidden: WaitingRow | undefined
  const judged = async (rows: readonly WaitingRow[]) => {
    const allowed = await authorizedAmong<WaitingRow>(work, 'allocation.read', allocationKind, rows)
    hidden ??= rows.find((row) => !allowed.includes(row))
    return allowed
  }
  const seen =
    found && (await isAllowedButForRules(work, 'allocation.read', listKind, found))
      ? await seenIn(slice, (after, limit) => work.tx.many(allocationsIn(found.id, query.state, after, limit)), judged)
      : []
  await authorize(work, 'allocation.read', allocationsOf(seen[0] ?? hidden ?? none), found)
  const { items, after: last } = listed(seen, slice, ({ id }) => id)
  return { items: items.map(listedOf), after: last }
}
