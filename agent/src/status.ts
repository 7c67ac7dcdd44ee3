import type { StuckStep } from '@gatehouse/contract/node-description'
import type { Refused } from './intake.ts'
import type { LinkState } from './link.ts'

export interface AgentStatus {
  readonly node_id: string
  readonly url: string
  readonly agent_version: string
  readonly started_at: string
  readonly certificate: { readonly expires_at: string; readonly renew_after: string }
  readonly server: LinkState
  readonly signers: readonly string[]
  readonly allocations: readonly {
    readonly allocation_id: string
    readonly username: string
    readonly generation_begun: number
    readonly generation_applied: number | null
    readonly type: string | null
    readonly applied_at: string | null
    readonly drift_found_at: string | null
    /** What is not as it should be and could not be put right, in a word. */
    readonly trouble: string | null
  }[]
  /** Why accounts of a former node could not be put away; null: there are none. */
  readonly accounts_left: string | null
  /** The version of the nodes' protocol that is spoken. */
  readonly protocol: number
  /** Steps that have taken longer than a minute. */
  readonly stuck: readonly StuckStep[]
  /** Bounds that the kernel of this machine cannot hold accounts to. */
  readonly unenforced: readonly string[]
  readonly waiting: { readonly reports: number; readonly events: number }
  readonly refused_tasks: Refused
}

const short = (type: string | null): string => type?.replace('allocation.', '') ?? 'nothing yet'

/** For a person at a terminal. */
export const sentencesOf = (status: AgentStatus): string => {
  const { node_id, url, agent_version, started_at, certificate, server, signers, allocations, waiting, refused_tasks } = status
  const lines = [
    `node            ${node_id}`,
    `agent           ${agent_version}, running since ${started_at}`,
    `server          ${url}: ${server.state} since ${server.since}${server.why === null ? '' : ` (${server.why})`}`,
    `last answer     ${server.last_answer_at ?? 'none yet'}`,
    `certificate     until ${certificate.expires_at}, renewed from ${certificate.renew_after}`,
    `signers         ${signers.length === 0 ? 'none known yet' : signers.join(', ')}`,
    `to be told      ${waiting.reports} reports, ${waiting.events} events`,
    `refused tasks   ${refused_tasks.count}${refused_tasks.last ? `, the last at ${refused_tasks.last.at}: ${refused_tasks.last.reason}` : ''}`,
    `protocol        ${status.protocol}`,
    `not enforced    ${status.unenforced.length === 0 ? 'nothing' : `${status.unenforced.join(', ')}: this machine cannot`}`,
    ...status.stuck.map(
      ({ step, allocation_id, since }) => `STUCK           ${step}${allocation_id === null ? '' : ` of ${allocation_id}`} since ${since}`,
    ),
    `allocations     ${allocations.length}`,
    ...allocations.map(({ allocation_id, username, generation_begun, generation_applied, type, drift_found_at, trouble }) => {
      const unfinished = generation_begun === generation_applied ? '' : `, ${generation_begun} begun and not finished`
      return `  ${allocation_id}  ${username}  generation ${generation_applied ?? 0} (${short(type)})${unfinished}${drift_found_at ? `, changed by hand, found ${drift_found_at}` : ''}${trouble === null ? '' : `, NOT AS IT SHOULD BE: ${trouble}`}`
    }),
  ]
  if (status.accounts_left !== null)
    lines.push('', `Accounts of a former node could not be put away (${status.accounts_left}); until they are, nobody new is let in here.`)
  if (server.state === 'refused')
    lines.push(
      '',
      'The server does not take this node’s certificate: it was retired, enrolled elsewhere, or away for too long.',
      'What was granted here still ends at its time. The list of nodes says which it is.',
      'Retired: it does not come back. Stop the agent, put its accounts away with gatehouse-agent clear, and register the machine anew.',
      'Otherwise: stop the agent, gatehouse-agent enrol with a new token of the same node, and start it.',
    )
  return `${lines.join('\n')}\n`
}
