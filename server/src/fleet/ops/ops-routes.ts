import * as ops from '@gatehouse/contract/ops'
import { answer } from '#rails/http/answer.ts'
import { listRunbooks } from './list-runbooks.ts'
import { readOpsOverview } from './read-overview.ts'

export const opsRoutes = [answer(ops.readOpsOverview, readOpsOverview), answer(ops.listRunbooks, listRunbooks)]
