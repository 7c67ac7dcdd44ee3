import type { Reply } from '@gatehouse/contract/operation'
import type { listEligibleProjects as Op } from '@gatehouse/contract/runtime-attachments'
import { projectKind } from '#people/tenancy/project.ts'
import { authorizedAmong } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { seenIn } from '#rails/http/seen-page.ts'
import { eligibleProjects } from './attachment-queries.ts'
import { authorizeToSee } from './runtime-scope.ts'
import type { RuntimeRow } from './shared-runtime.ts'

interface Eligible {
  readonly id: string
  readonly project: Reply<typeof Op>['items'][number]
}

/** A project as a read of it is judged. */
const readKind = ({ org_id }: RuntimeRow): Kind<Eligible> => ({
  type: projectKind.type,
  missing: projectKind.missing,
  placeOf: ({ id }) => ({ id, tenant_id: org_id, project_id: id, relations: [] }),
})

/** A project as attaching it is judged: as something done to the runtime, in the project. */
const attachKind = ({ id: shared_runtime_id, org_id }: RuntimeRow): Kind<Eligible> => ({
  type: 'shared_runtime',
  missing: 'shared_runtime_not_found',
  placeOf: ({ id }) => ({ id: shared_runtime_id, tenant_id: org_id, project_id: id, shared_runtime_id, relations: [] }),
})

/** Those that whoever asks could attach, as far as he may know them: a project may have rules of its own about either. */
export const listEligible: Answering<typeof Op> = async (work, { params, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.manage', params)
  const seen = await seenIn(
    slice,
    async (after, limit): Promise<Eligible[]> =>
      (await work.tx.many(eligibleProjects(runtime, after, limit))).map((project) => ({ id: project.project_id, project })),
    async (rows) => {
      const readable = await authorizedAmong(work, 'project.read', readKind(runtime), rows)
      return authorizedAmong(work, 'tenant.shared_runtime.manage', attachKind(runtime), readable)
    },
  )
  const { items, after: last } = listed(seen, slice, ({ id }) => id)
  return { items: items.map(({ project }) => project), after: last }
}
