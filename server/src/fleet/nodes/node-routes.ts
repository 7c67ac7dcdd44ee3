import * as description from '@gatehouse/contract/node-description'
import * as nodes from '@gatehouse/contract/nodes'
import type { Database } from '#ground/db/database.ts'
import type { Append } from '#rails/audit/append.ts'
import { type Answer, answer, answerAgain, answerIssuing } from '#rails/http/answer.ts'
import { createNode } from './create-node.ts'
import { describeNode } from './describe-node.ts'
import { drainNode, undrainNode } from './drain-node.ts'
import { enrolNode } from './enrol-node.ts'
import { enrolNodeAgain } from './enrol-node-again.ts'
import { identifyNode } from './identify-node.ts'
import { listNodes } from './list-nodes.ts'
import type { NodeTrust } from './make-enrolment.ts'
import type { NodeSubscribers } from './node-subscribers.ts'
import { readNode } from './read-node.ts'
import { refusalRecorder } from './refusal-recorder.ts'
import { renewCertificate } from './renew-certificate.ts'
import { reportStuckSteps } from './report-stuck-steps.ts'
import { retireNode } from './retire-node.ts'

interface Parts {
  readonly database: Database
  readonly append: Append
  readonly trust: NodeTrust
}

/** What nodes are, and who is one. */
export const nodeTrustWith = ({ database, append, trust }: Parts, subscribers: NodeSubscribers) => {
  const refuse = refusalRecorder(database, append)
  const { authority } = trust
  const routes: Answer[] = [
    answer(nodes.listNodes, listNodes),
    answer(nodes.createNode, createNode(trust)),
    answer(nodes.readNode, readNode),
    answer(nodes.enrolNodeAgain, enrolNodeAgain(trust)),
    answer(nodes.drainNode, drainNode),
    answer(nodes.undrainNode, undrainNode),
    answer(nodes.retireNode, retireNode(subscribers)),
    answerIssuing(nodes.enrolNode, enrolNode({ database, append, authority, refuse, subscribers })),
    answer(nodes.renewCertificate, renewCertificate(authority)),
    answerAgain(description.describeNode, describeNode(subscribers)),
    answerAgain(description.reportStuckSteps, reportStuckSteps),
  ]
  return { routes, identifyNode: identifyNode(database, refuse) }
}
