import { writeAccessGrants } from './access-grant-calls.ts'
import { writeAllocations } from './allocation-calls.ts'
import { writeNodes } from './node-calls.ts'
import { writeNodeTasks } from './node-task-calls.ts'
import { writeOperatorCredentials } from './operator-credential-calls.ts'
import {
  writeConstraints,
  writeInvitations,
  writeRoles,
  writeServiceAccounts,
  writeSigningKeys,
  writeSshKeys,
  writeTokens,
} from './rightful-calls.ts'
import { writeSharedRuntimes } from './shared-runtime-calls.ts'

/** Writes every row that `rightfulCalls` name, in the order of their foreign keys. */
export const writeTargets = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  for (const write of [
    writeConstraints,
    writeInvitations,
    writeRoles,
    writeServiceAccounts,
    writeNodes,
    writeNodeTasks,
    writeAllocations,
    writeAccessGrants,
    writeSshKeys,
    writeSharedRuntimes,
    writeOperatorCredentials,
    writeSigningKeys,
    writeTokens,
  ])
    await write(sql)
}
