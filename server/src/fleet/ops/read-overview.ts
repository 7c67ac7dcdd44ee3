import type { readOpsOverview as Op, OpsOverview } from '@gatehouse/contract/ops'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'
import { countEverything } from './overview-queries.ts'
import type { RunbookId } from './runbooks.ts'

/** Counts, and no names: who operates the platform need not know its customers. */
export const readOpsOverview: Answering<typeof Op> = async (work) => {
  await authorize(work, 'platform.ops.read', platformKind, thePlatform)
  const { ownerless_projects, overdue_tasks, disabled_builtin_roles, ...overview } = await work.tx.one(countEverything())
  const seen: [what: string, count: number, runbook_id: RunbookId][] = [
    ['nodes-unavailable', overview.nodes.unavailable, 'node-unavailable'],
    ['tasks-overdue', overdue_tasks, 'node-unavailable'],
    ['releases-failed', overview.allocations.release_failed, 'release-failed'],
    ['projects-without-owner', ownerless_projects, 'project-without-owner'],
    ['builtin-roles-disabled', disabled_builtin_roles, 'builtin-role-disabled'],
  ]
  const attention: OpsOverview['attention'] = seen.flatMap(([what, count, runbook_id]) => (count > 0 ? [{ what, count, runbook_id }] : []))
  return { ...overview, attention }
}
