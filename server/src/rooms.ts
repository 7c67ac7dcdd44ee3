import { auditTrailRoom } from '#desk/audit-trail/room.ts'
import { decisionsRoom } from '#desk/decisions/room.ts'
import { policyAdminRoom } from '#desk/policy-admin/room.ts'
import { accessGrantsRoom } from '#fleet/access-grants/room.ts'
import { allocationsRoom } from '#fleet/allocations/room.ts'
import { nodeTasksRoom } from '#fleet/node-tasks/room.ts'
import { nodesRoom } from '#fleet/nodes/room.ts'
import { opsRoom } from '#fleet/ops/room.ts'
import { sshKeysRoom } from '#fleet/ssh-keys/room.ts'
import { sshSessionsRoom } from '#fleet/ssh-sessions/room.ts'
import { taskSignersRoom } from '#fleet/task-signers/room.ts'
import { custodyRoom } from '#ground/custody/room.ts'
import { dbRoom } from '#ground/db/room.ts'
import { epochsRoom } from '#ground/epochs/room.ts'
import type { EnvelopeColumn } from '#ground/installation/rewrap.ts'
import { installationRoom } from '#ground/installation/room.ts'
import { kernelRoom } from '#ground/kernel/room.ts'
import { telemetryRoom } from '#ground/telemetry/room.ts'
import { workRoom } from '#ground/work/room.ts'
import { keysRoom } from '#machines/keys/room.ts'
import { oauthRoom } from '#machines/oauth/room.ts'
import { serviceAccountsRoom } from '#machines/service-accounts/room.ts'
import { tokensRoom } from '#machines/tokens/room.ts'
import { invitationsRoom } from '#people/invitations/room.ts'
import { principalsRoom } from '#people/principals/room.ts'
import { rolesRoom } from '#people/roles/room.ts'
import { tenancyRoom } from '#people/tenancy/room.ts'
import { auditRoom } from '#rails/audit/room.ts'
import { type AllSentences, allSentences } from '#rails/audit/sentences.ts'
import type { ActorClass, ActorClasses } from '#rails/authz/actor-class.ts'
import { authzRoom } from '#rails/authz/room.ts'
import type { Noun } from '#rails/http/noun.ts'
import { httpRoom } from '#rails/http/room.ts'
import type { Job } from '#rails/jobs/job.ts'
import { jobsRoom } from '#rails/jobs/room.ts'
import { policiesRoom } from '#rails/policies/room.ts'
import { deliveriesRoom } from '#runtimes/deliveries/room.ts'
import { operatorCredentialsRoom } from '#runtimes/operator-credentials/room.ts'
import { runtimeCredentialsRoom } from '#runtimes/runtime-credentials/room.ts'
import { sharedRuntimesRoom } from '#runtimes/shared-runtimes/room.ts'

/** The rooms, from the lowest to the highest: each sees only rooms that stand before it. A new room is a line here. */
export const rooms = {
  kernel: kernelRoom,
  telemetry: telemetryRoom,
  db: dbRoom,
  custody: custodyRoom,
  epochs: epochsRoom,
  work: workRoom,
  audit: auditRoom,
  installation: installationRoom,
  jobs: jobsRoom,
  policies: policiesRoom,
  authz: authzRoom,
  http: httpRoom,
  decisions: decisionsRoom,
  tenancy: tenancyRoom,
  principals: principalsRoom,
  roles: rolesRoom,
  invitations: invitationsRoom,
  'audit-trail': auditTrailRoom,
  'policy-admin': policyAdminRoom,
  keys: keysRoom,
  'service-accounts': serviceAccountsRoom,
  'task-signers': taskSignersRoom,
  nodes: nodesRoom,
  ops: opsRoom,
  'node-tasks': nodeTasksRoom,
  'ssh-keys': sshKeysRoom,
  allocations: allocationsRoom,
  'access-grants': accessGrantsRoom,
  'ssh-sessions': sshSessionsRoom,
  deliveries: deliveriesRoom,
  'shared-runtimes': sharedRuntimesRoom,
  'operator-credentials': operatorCredentialsRoom,
  'runtime-credentials': runtimeCredentialsRoom,
  tokens: tokensRoom,
  oauth: oauthRoom,
} as const

const doors = Object.values(rooms)

/** Every column that holds sealed secrets: what re-wrapping must reach. */
export const envelopeColumns: readonly EnvelopeColumn[] = doors.flatMap((door) => ('sealed' in door ? door.sealed : []))

type Door = (typeof doors)[number]
type DeclaredActor = Extract<Door, { readonly actors: unknown }>['actors'][number]
type DeclaredNoun = Extract<Door, { readonly nouns: unknown }>['nouns'][number]
type DeclaredJob = Extract<Door, { readonly jobs: unknown }>['jobs'][number]

const byType = <C extends ActorClass>(classes: readonly C[]) =>
  Object.fromEntries(classes.map((each) => [each.type, each])) as unknown as { readonly [T in C['type']]: Extract<C, { readonly type: T }> }
/** Every class of the contract: one that no room declares is missing here, and does not compile. */
export const actorClasses: ActorClasses = byType(doors.flatMap((door): readonly DeclaredActor[] => ('actors' in door ? door.actors : [])))

type DeclaredSentences = Extract<Door, { readonly sentences: unknown }>['sentences']
/** How the record is told. */
export const sentences: AllSentences = allSentences(
  doors.flatMap((door): readonly DeclaredSentences[] => ('sentences' in door ? [door.sentences] : [])),
)

/** What the record can name. */
export const nouns: readonly Noun[] = doors.flatMap((door): readonly DeclaredNoun[] => ('nouns' in door ? door.nouns : []))

/** What the jobs need of the process: all that each of them says it needs. */
export type JobParts = (DeclaredJob extends infer J ? (J extends Job<infer P> ? (parts: P) => void : never) : never) extends (
  parts: infer All,
) => void
  ? All
  : never
/** What the process does by itself. */
export const jobs: readonly Job<JobParts>[] = doors.flatMap((door): readonly DeclaredJob[] => ('jobs' in door ? door.jobs : []))
