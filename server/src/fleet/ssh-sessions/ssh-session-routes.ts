import * as contract from '@gatehouse/contract/node-events'
import { type Answer, answer, answerAgain } from '#rails/http/answer.ts'
import type { AllocationParts } from '../allocations/allocation.ts'
import { listSshSessions } from './list-ssh-sessions.ts'
import { reportNodeEvents } from './report-node-events.ts'

export const sshSessionRoutes = (parts: AllocationParts): readonly Answer[] => [
  answerAgain(contract.reportNodeEvents, reportNodeEvents(parts)),
  answer(contract.listSshSessions, listSshSessions),
]
