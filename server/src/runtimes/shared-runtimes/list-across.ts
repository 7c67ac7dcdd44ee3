import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { findOrganization } from '#people/tenancy/organization-queries.ts'
import type { Action } from '#rails/authz/actions.ts'
import { authorize, isAllowedButForRules } from '#rails/authz/authorize.ts'
import { type Listed, listed, type Slice } from '#rails/http/answer.ts'
import { seenIn } from '#rails/http/seen-page.ts'
import { idAfter, placeAmong } from './operator-cursor.ts'
import { type RuntimeParams, runtimesOf } from './runtime-scope.ts'
import type { RuntimeRow } from './shared-runtime.ts'
import { findRuntime } from './shared-runtime-queries.ts'

/** What is listed: by which right, what each item is to rules, which there are, and which of them may be seen. */
interface Across<Row> {
  readonly right: Action
  readonly type: string
  readonly readAfter: (runtime: RuntimeRow, after: string | null, limit: number) => Promise<readonly Row[]>
  readonly seenAmong: (runtime: RuntimeRow, rows: readonly Row[]) => Promise<readonly Row[]>
}

/**
 * What an operator is shown across the projects that are attached to its runtime: exactly what it could read one by one, for each project may
 * have rules and exemptions of its own. So the list is judged as what it shows is; where that is nothing, as such a thing in no project.
 */
export const listAcross = async <Row extends { readonly id: string; readonly project_id: string }>(
  work: Work,
  { params: { org_id, shared_runtime_id }, slice }: { readonly params: RuntimeParams; readonly slice: Slice },
  { right, type, readAfter, seenAmong }: Across<Row>,
): Promise<Listed<Row>> => {
  const found = await work.tx.maybe(findOrganization(org_id))
  // Of what is not its own nothing is looked at: a refusal tells nothing of what there is.
  const isOwn = work.actor.id === shared_runtime_id
  const runtime = found && isOwn ? await work.tx.maybe(findRuntime(found.id, shared_runtime_id)) : undefined
  const from = runtime && idAfter(runtime, slice.after)
  const seen =
    found && runtime && from !== undefined && (await isAllowedButForRules(work, right, runtimesOf({ type, shared_runtime_id }), found))
      ? await seenIn(
          { ...slice, after: from },
          (after, limit) => readAfter(runtime, after, limit),
          (rows) => seenAmong(runtime, rows),
        )
      : []
  await authorize(work, right, runtimesOf({ type, shared_runtime_id, project_id: seen[0]?.project_id ?? null }), found)
  if (!runtime) throw new Problem('shared_runtime_not_found')
  if (from === undefined) throw new Problem('cursor_invalid')
  const page = listed(seen, slice, ({ id }) => placeAmong(runtime, id))
  for (const { project_id } of page.items) work.trail.shown_of.add(project_id)
  return page
}
