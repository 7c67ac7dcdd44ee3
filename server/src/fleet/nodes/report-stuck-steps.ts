import type { reportStuckSteps as Op, StuckStep } from '@gatehouse/contract/node-description'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { Again, type AnsweringAgain } from '#rails/http/answer.ts'
import { nodeKind } from './node.ts'
import { countOnNode, setStuckSteps, stuckSteps } from './node-description-queries.ts'
import { lockNode } from './node-queries.ts'

const nameOf = ({ step, allocation_id, since }: StuckStep): string => `${since} ${step} ${allocation_id}`

/** Each once, the oldest first. */
const inOrder = (steps: readonly StuckStep[]): StuckStep[] =>
  [...new Map(steps.map((step) => [nameOf(step), step])).values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))

const without = (some: readonly StuckStep[], others: readonly StuckStep[]): StuckStep[] => {
  const names = new Set(others.map(nameOf))
  return some.filter((step) => !names.has(nameOf(step)))
}

/** What takes the agent too long: perhaps nobody is locked out there any more, so each is told of once, and that it has gone on as well. */
export const reportStuckSteps: AnsweringAgain<typeof Op> = async (work, { params: { node_id }, body }) => {
  const node = await authorize(work, 'node.task.report', nodeKind, { id: node_id as string })
  const steps = inOrder(body.steps)
  const named = [...new Set(steps.flatMap(({ allocation_id }) => allocation_id ?? []))]
  if (named.length > 0 && (await work.tx.one(countOnNode(node_id, named))).count < named.length)
    throw new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' })
  await work.tx.one(lockNode(node_id))
  const { stuck_steps: before } = await work.tx.one(stuckSteps(node_id))
  const stuck = without(steps, before)
  const unstuck = without(before, steps)
  const reply = { stuck_since: steps[0]?.since ?? null }
  if (stuck.length + unstuck.length === 0) return new Again(reply, false)
  await work.tx.one(setStuckSteps(node, steps))
  const about = { resource_type: 'node', resource_id: node_id } as const
  for (const step of stuck) record(work, { action: 'node.step.stuck', ...about, severity: 'high', metadata: { ...step } })
  for (const step of unstuck) record(work, { action: 'node.step.unstuck', ...about, metadata: { ...step } })
  return reply
}
