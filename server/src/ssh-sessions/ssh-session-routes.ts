import * as contract from '@gatehouse/contract/node-events'
import { type Answer, answer, answerAgain } from '../http/answer.ts'
import { listSshSessions } from './list-ssh-sessions.ts'
import { reportNodeEvents } from './report-node-events.ts'

export const sshSessionRoutes: readonly Answer[] = [
  answerAgain(contract.reportNodeEvents, reportNodeEvents),
  answer(contract.listSshSessions, listSshSessions),
]
