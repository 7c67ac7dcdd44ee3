import { auditTrailRoutes } from '#desk/audit-trail/audit-trail-routes.ts'
import { sentencesWith } from '#desk/audit-trail/sentence.ts'
import type { VerifyRecord } from '#desk/audit-trail/verify-audit-logs.ts'
import { decisionRoutes } from '#desk/decisions/decision-routes.ts'
import { tenantNamed } from '#desk/decisions/question.ts'
import { policyAdminRoutes } from '#desk/policy-admin/policy-admin-routes.ts'
import type { PolicySubscribers } from '#desk/policy-admin/policy-subscribers.ts'
import { accessGrantRoutes } from '#fleet/access-grants/access-grant-routes.ts'
import { endAccessOfKey, endAccessOfMember, endAccessOfUser, endGrantsOf } from '#fleet/access-grants/end-access.ts'
import { followSet } from '#fleet/access-grants/follow-set.ts'
import type { AllocationParts } from '#fleet/allocations/allocation.ts'
import { allocationRoutes } from '#fleet/allocations/allocation-routes.ts'
import { endOwnership } from '#fleet/allocations/end-ownership.ts'
import { onNodeDescribed } from '#fleet/allocations/node-described.ts'
import { lockAllocationsOn, onNodeEnrolled } from '#fleet/allocations/node-enrolled.ts'
import { onNodeRetired } from '#fleet/allocations/node-retired.ts'
import { syncWithOrganization, syncWithProject } from '#fleet/allocations/scope-moved.ts'
import { lockAllocationOfTask, onTaskFinished } from '#fleet/allocations/task-finished.ts'
import { onPolicyChanged } from '#fleet/allocations/terms-changed.ts'
import { type NodeTasks, nodeTaskRoutes } from '#fleet/node-tasks/node-task-routes.ts'
import type { TaskSubscribers } from '#fleet/node-tasks/task-subscribers.ts'
import type { NodeTrust } from '#fleet/nodes/make-enrolment.ts'
import { nodeTrustWith } from '#fleet/nodes/node-routes.ts'
import type { NodeSubscribers } from '#fleet/nodes/node-subscribers.ts'
import { opsRoutes } from '#fleet/ops/ops-routes.ts'
import { sshKeyRoutes } from '#fleet/ssh-keys/ssh-key-routes.ts'
import { sshSessionRoutes } from '#fleet/ssh-sessions/ssh-session-routes.ts'
import { taskSignerRoutes } from '#fleet/task-signers/task-signer-routes.ts'
import type { TaskSigning } from '#fleet/task-signers/task-signing.ts'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import type { Database } from '#ground/db/database.ts'
import type { Fresh, Wanted } from '#ground/epochs/fresh.ts'
import type { Secret } from '#ground/kernel/secret.ts'
import type { Actor } from '#ground/work/work.ts'
import type { KeySet } from '#machines/keys/key-set.ts'
import { publicKeys } from '#machines/keys/public-keys.ts'
import type { Sign } from '#machines/keys/signer.ts'
import { signingKeyRoutes } from '#machines/keys/signing-key-routes.ts'
import { holding } from '#machines/oauth/holder.ts'
import { oauthWith } from '#machines/oauth/oauth-routes.ts'
import { proofUsing } from '#machines/oauth/used-proofs.ts'
import { serviceAccountRoutes } from '#machines/service-accounts/service-account-routes.ts'
import { endTokensOfOrganization, endTokensOfProject, endTokensOfRuntime } from '#machines/tokens/end-with-scope.ts'
import { identifyMachine, issuerNamedBy, type RequireHolder } from '#machines/tokens/identify-machine.ts'
import { type GateAndIssuer, gateAndIssuer } from '#machines/tokens/issuing.ts'
import type { DenialParts } from '#machines/tokens/record-denial.ts'
import { tokenAdminRoutes } from '#machines/tokens/token-admin-routes.ts'
import { tokenRoutes } from '#machines/tokens/token-routes.ts'
import { endInvitations } from '#people/invitations/end-with-membership.ts'
import { endInvitationsToRole } from '#people/invitations/end-with-role.ts'
import { invitationRoutes } from '#people/invitations/invitation-routes.ts'
import type { UserDisabling } from '#people/principals/disable-user.ts'
import { identifyPerson } from '#people/principals/identify-person.ts'
import type { HumanTokens } from '#people/principals/oidc/human-tokens.ts'
import { principalRoutes } from '#people/principals/principal-routes.ts'
import { endBindings } from '#people/roles/end-bindings.ts'
import { bindFirstProjectOwner, bindFirstTenantOwner, ownersAreAssignable } from '#people/roles/found-owners.ts'
import { requireAnotherSuperadmin } from '#people/roles/last-superadmin.ts'
import { roleRoutes } from '#people/roles/role-routes.ts'
import type { TenancySubscribers } from '#people/tenancy/subscribers.ts'
import { tenancyRoutes } from '#people/tenancy/tenancy-routes.ts'
import type { Append } from '#rails/audit/append.ts'
import type { Showing } from '#rails/http/answer.ts'
import { sealedCursors } from '#rails/http/cursor.ts'
import { hashedRequests } from '#rails/http/idempotency.ts'
import type { ShownToken } from '#rails/http/read-request.ts'
import { deliveryRoutes } from '#runtimes/deliveries/delivery-routes.ts'
import { operatorCredentialRoutes } from '#runtimes/operator-credentials/operator-credential-routes.ts'
import { endOperatorCredentials } from '#runtimes/operator-credentials/revoke-operator-credential.ts'
import { endRuntimeCredentials, endRuntimeDeliveries } from '#runtimes/runtime-credentials/end-runtime-credentials.ts'
import { runtimeCredentialDeliveries } from '#runtimes/runtime-credentials/open-runtime-credential.ts'
import { runtimeCredentialRoutes } from '#runtimes/runtime-credentials/runtime-credential-routes.ts'
import { requireTaggable } from '#runtimes/shared-runtimes/require-taggable.ts'
import type { RuntimeSubscribers } from '#runtimes/shared-runtimes/shared-runtime.ts'
import { sharedRuntimeRoutes } from '#runtimes/shared-runtimes/shared-runtime-routes.ts'
import { actorClasses, nouns, sentences } from '../rooms.ts'

/** Where the end or beginning of one thing reaches rooms above it, in the same transaction. */
export const tenancySubscribers: TenancySubscribers = {
  canBeFounded: [ownersAreAssignable],
  onOrganizationFounded: [bindFirstTenantOwner],
  onProjectFounded: [bindFirstProjectOwner],
  onOrganizationMoved: [endTokensOfOrganization],
  onProjectMoved: [endTokensOfProject],
  onMembershipEnded: [endBindings, endInvitations],
}
const allocationParts = (signing: TaskSigning): AllocationParts => ({ signing, onAllocationEnding: [endGrantsOf], onSetMoved: [followSet] })
/** The same, with what nodes must be told of. */
const tenancySubscribersWith = (signing: TaskSigning): TenancySubscribers => ({
  ...tenancySubscribers,
  onOrganizationMoved: [...tenancySubscribers.onOrganizationMoved, syncWithOrganization(allocationParts(signing))],
  onProjectMoved: [...tenancySubscribers.onProjectMoved, syncWithProject(allocationParts(signing))],
  onMembershipEnded: [...tenancySubscribers.onMembershipEnded, endAccessOfMember(signing), endOwnership],
})
/** What a changed limit makes due. */
const policySubscribers: PolicySubscribers = { onPolicyChanged: [onPolicyChanged] }
/** What rests or ends with a shared runtime. */
const runtimeSubscribers: RuntimeSubscribers = {
  onRuntimeDisabled: [endRuntimeDeliveries],
  onRuntimeDeleted: [endRuntimeCredentials, endOperatorCredentials, endTokensOfRuntime],
}
const onUserDisabling = (signing: TaskSigning): UserDisabling => [requireAnotherSuperadmin, endAccessOfUser(signing)]
/** What follows from a node's word; what is queued then is signed too. */
export const taskSubscribers = (signing: TaskSigning): TaskSubscribers => ({
  beforeTaskLocked: [lockAllocationOfTask],
  onTaskFinished: [onTaskFinished(allocationParts(signing))],
})

const nodeSubscribers = (signing: TaskSigning): NodeSubscribers => ({
  beforeNodeLocked: [lockAllocationsOn],
  onNodeEnrolled: [onNodeEnrolled(allocationParts(signing))],
  onNodeDescribed: [onNodeDescribed(allocationParts(signing))],
  onNodeRetired: [onNodeRetired(allocationParts(signing))],
})

/** What lives as long as the process and is made once: by the server, and by tests that put something broken in its place. */
export interface Parts {
  readonly database: Database
  readonly fresh: Fresh
  readonly append: Append
  readonly verify: VerifyRecord
  /** Seals what is deposited. */
  readonly ring: KeyRing
  readonly cursor_key: Secret
  readonly tokens: Pick<HumanTokens, 'validate' | 'saidBefore'>
  /** As whom tokens are issued, and for whom this API accepts them. */
  readonly issuer: { readonly url: string; readonly audience: string }
  readonly keys: {
    readonly want: () => Wanted<KeySet>
    readonly sign: Sign
    /** A next key is needed; it is made aside. */
    readonly tendSoon: () => void
  }
  /** As whom nodes are vouched for, and where they come to. */
  readonly nodes: NodeTrust
  /** How nodes are told what to do. */
  readonly tasks: NodeTasks
  /** That a token was refused is not in the record yet, or will never be. */
  readonly onUnrecorded?: DenialParts['onUnrecorded']
  /** How long a caller waits for a token before it is refused with 503. */
  readonly patience_ms?: number
}

/** Every operation with the verb that answers it. */
const answersWith = (
  { verify, ring, keys, tasks: { signing } }: Pick<Parts, 'verify' | 'ring' | 'keys' | 'tasks'>,
  issuing: GateAndIssuer,
) => [
  ...principalRoutes(onUserDisabling(signing)),
  ...tenancyRoutes(tenancySubscribersWith(signing)),
  ...roleRoutes({ onRoleDeleted: [endInvitationsToRole] }),
  ...serviceAccountRoutes,
  ...sshKeyRoutes({ onSshKeyDeleted: [endAccessOfKey(signing)] }),
  ...allocationRoutes(allocationParts(signing), requireTaggable),
  ...sharedRuntimeRoutes(runtimeSubscribers),
  ...operatorCredentialRoutes,
  ...runtimeCredentialRoutes(ring),
  ...deliveryRoutes({ shared_runtime_credential: runtimeCredentialDeliveries(ring) }),
  ...accessGrantRoutes(signing),
  ...sshSessionRoutes(allocationParts(signing)),
  ...invitationRoutes,
  ...policyAdminRoutes(policySubscribers),
  ...auditTrailRoutes(verify, sentencesWith(sentences, actorClasses).sentenceOf),
  ...decisionRoutes,
  ...signingKeyRoutes(keys.tendSoon),
  ...opsRoutes,
  ...tokenAdminRoutes,
  ...tokenRoutes(issuing),
]

/** Our own tokens are machines'; whoever brings another's is a person. */
const identifyWith = (
  { tokens, database, append, issuer, keys }: Pick<Parts, 'tokens' | 'database' | 'append' | 'issuer' | 'keys'>,
  requireHolder: RequireHolder,
) => {
  const person = identifyPerson(tokens, database, tenancySubscribers, append)
  const machine = identifyMachine(keys.want, { issuer: issuer.url, audience: issuer.audience }, requireHolder)
  return async (shown: ShownToken, showing: Showing): Promise<Actor> => {
    const { fresh, identified } = showing
    const before = tokens.saidBefore(shown.token)
    if (!before && issuerNamedBy(shown.token) === issuer.url) return machine(shown, fresh, identified)
    // No token of a person's is bound to a key that we could ask for.
    await requireHolder(shown, null, fresh)
    const actor = await person(shown.token, showing, before)
    await identified(actor)
    return actor
  }
}

/** The product behind its HTTP door; who composes a server adds how it is observed and stopped. */
export const composed = ({
  database,
  fresh,
  append,
  verify,
  ring,
  cursor_key,
  tokens,
  issuer,
  keys,
  nodes,
  tasks,
  onUnrecorded,
  patience_ms,
}: Parts) => {
  const issuing = gateAndIssuer({
    ...{ database, fresh, append, issuer, keys },
    ...(onUnrecorded && { onUnrecorded }),
    ...(patience_ms && { patience_ms }),
  })
  const useProof = proofUsing(database)
  const holders = holding(useProof, issuer.url)
  const identify = identifyWith({ tokens, database, append, issuer, keys }, holders.requireHolder)
  const oauth = oauthWith({ database, fresh, append, issuer, keys, ...issuing, useProof, holders, identify })
  const trust = nodeTrustWith({ database, append, trust: nodes }, nodeSubscribers(tasks.signing))
  return {
    answers: [
      ...answersWith({ verify, ring, keys, tasks }, issuing),
      ...oauth.routes,
      ...trust.routes,
      ...nodeTaskRoutes(tasks, taskSubscribers(tasks.signing), nodeSubscribers(tasks.signing)),
      ...taskSignerRoutes(tasks.tendSoon),
    ],
    documents: [publicKeys(keys.want), ...oauth.documents],
    database,
    fresh,
    append,
    cursors: sealedCursors(cursor_key),
    hashRequest: hashedRequests(cursor_key),
    identify,
    identifyClient: oauth.identifyClient,
    identifyNode: trust.identifyNode,
    aside: issuing.denials,
    tenantNamed,
    actors: actorClasses,
    nouns,
  }
}
