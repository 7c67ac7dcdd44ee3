import { type Client, ProblemError } from '@gatehouse/contract/client'
import { listAttachments } from '@gatehouse/contract/runtime-attachments'
import {
  listRuntimeAllocations,
  listRuntimeMembers,
  readSharedRuntime,
  reportRuntimeMembers,
  reportRuntimeStatus,
} from '@gatehouse/contract/shared-runtimes'
import { membersFrom } from './members.ts'
import type { Settings } from './settings.ts'
import { takeSecret, type Where } from './take-secret.ts'

const isProblem = (error: unknown, code: string): boolean => error instanceof ProblemError && error.code === code

/** Where projects were attached or detached while a list was read, it begins anew: half of it was true of another moment. */
const whole = async <I>(read: () => AsyncGenerator<I, void>): Promise<I[]> => {
  for (let tried = 1; ; tried += 1) {
    try {
      return await Array.fromAsync(read())
    } catch (error) {
      if (tried === 3 || !isProblem(error, 'cursor_invalid')) throw error
    }
  }
}

/**
 * One look at what there is, and one report of it. Its number follows the higher of the two that the server has: so it goes on counting after a
 * restart, on another machine or without its disk, and also where the server was set back to an earlier state.
 */
export const newRound = (client: Client, { org_id, shared_runtime_id, wanted }: Settings, signal: AbortSignal) => {
  const { call, each } = client
  const here: Where = { params: { org_id, shared_runtime_id }, signal }

  return async () => {
    const { reported_sequence } = await call(readSharedRuntime, here)
    const reported = await call(listRuntimeMembers, here)
    const attachments = await whole(() => each(listAttachments, { ...here, query: { limit: 200 } }))
    const allocations = await whole(() => each(listRuntimeAllocations, { ...here, query: { limit: 200 } }))
    const secret = wanted ? await takeSecret(client, here, wanted) : undefined

    const members = membersFrom(allocations)
    const state = members.some((member) => member.state === 'down') ? 'degraded' : 'running'
    const sequence = Math.max(reported_sequence, reported.sequence) + 1
    const status = await call(reportRuntimeStatus, { ...here, body: { sequence, state } })
    const listed = await call(reportRuntimeMembers, { ...here, body: { sequence, members } })
    return {
      sequence,
      state,
      attachments: attachments.length,
      allocations: allocations.length,
      members: members.length,
      // Another controller of the same runtime was faster: two must not run at once.
      is_taken: status.is_taken && listed.is_taken,
      ...(secret === undefined ? {} : { secret }),
    }
  }
}
