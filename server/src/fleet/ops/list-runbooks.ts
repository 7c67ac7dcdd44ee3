import type { listRunbooks as Op, Runbook } from '@gatehouse/contract/ops'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { runbooks } from './runbooks.ts'

const copyOf = ({ steps, operations, ...rest }: (typeof runbooks)[number]): Runbook => ({
  ...rest,
  steps: [...steps],
  operations: [...operations],
})

export const listRunbooks: Answering<typeof Op> = async (work, { slice }) => {
  await authorize(work, 'platform.ops.runbook.read', platformKind, thePlatform)
  const rest = runbooks.filter(({ id }) => slice.after === null || id > slice.after)
  return listed(rest.slice(0, slice.limit + 1).map(copyOf), slice, ({ id }) => id)
}
