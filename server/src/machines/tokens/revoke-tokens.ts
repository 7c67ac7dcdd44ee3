import type { Input, Reply } from '@gatehouse/contract/operation'
import type { revokeTokens as Op } from '@gatehouse/contract/tokens'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { organizationKind } from '#people/tenancy/organization.ts'
import { findOrganization } from '#people/tenancy/organization-queries.ts'
import { projectKind } from '#people/tenancy/project.ts'
import { findProject } from '#people/tenancy/project-queries.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { type Kind, nowhere, platformKind, thePlatform } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'
import {
  credentialById,
  insertCutOff,
  type ManagedSubject,
  operatorById,
  revokeToken,
  serviceAccountById,
  tokenById,
} from './cutoff-queries.ts'

type Body = Input<typeof Op>['body']
type SubjectType = Reply<typeof Op>['subject_type']

const refused = (field: string, message: string) => new Problem('validation_error', [{ in: 'body', field, message }])

const subjectsIn = ({ token_id, credential_id, actor, project_id, org_id, platform }: Body): [SubjectType, string | null][] => {
  const named: [SubjectType, string | null | undefined][] = [
    ['token', token_id],
    ['credential', credential_id],
    ['actor', actor?.id],
    ['project', project_id],
    ['organization', org_id],
    ['platform', platform ? null : undefined],
  ]
  return named.filter((each): each is [SubjectType, string | null] => each[1] !== undefined)
}

const oneSubjectIn = (body: Body): [SubjectType, string | null] => {
  const [subject, another] = subjectsIn(body)
  if (!subject || another) throw refused('token_id', 'exactly one of token_id, credential_id, actor, project_id, org_id and platform')
  return subject
}

/** Whoever manages a credential manages what was issued for it. */
const managing = ['project.service_account.manage', 'platform.admin'] as const
const operating = ['tenant.shared_runtime.manage', 'platform.admin'] as const

/** A token, or whom tokens are issued to: where it does not exist, it is answered as where it is somebody else's. */
const kindOf = (type: string): Kind<ManagedSubject> => ({
  type,
  missing: 'token_not_found',
  placeOf: ({ id, org_id, project_id, shared_runtime_id }) => ({ ...nowhere, id, tenant_id: org_id, project_id, shared_runtime_id }),
})

/** An operator's tokens are those of its runtime, and so its tenant's; what is nobody's is judged as a project's. */
const authorizeManaged = async (work: Work, type: string, found: ManagedSubject | undefined) => {
  const actions = found?.shared_runtime_id ? operating : managing
  const proof = await authorize<(typeof actions)[number], ManagedSubject>(work, actions, kindOf(type), found)
  return { proof, org_id: proof.org_id, project_id: proof.project_id }
}

const actorBy = ({ type, id }: NonNullable<Body['actor']>) => {
  if (type === 'shared_runtime_operator') return operatorById(id)
  return type === 'service_account' ? serviceAccountById(id) : undefined
}

/** Whoever manages the credentials of a project, or of a runtime, ends what was issued for them; what reaches further is the platform's. */
const authorizeOn = async (work: Work, type: SubjectType, id: string | null, { actor }: Body) => {
  const { tx } = work
  switch (type) {
    case 'token':
      return authorizeManaged(work, 'token', await tx.maybe(tokenById(id!)))
    case 'credential':
      return authorizeManaged(work, 'credential', await tx.maybe(credentialById(id!)))
    case 'actor': {
      const known = actorBy(actor!)
      return authorizeManaged(work, 'actor', known && (await tx.maybe(known)))
    }
    case 'project': {
      const proof = await authorize(work, managing, projectKind, await tx.maybe(findProject(id!)))
      return { proof, org_id: proof.org_id, project_id: proof.id }
    }
    case 'organization': {
      const proof = await authorize(work, 'platform.admin', organizationKind, await tx.maybe(findOrganization(id!)))
      return { proof, org_id: proof.id, project_id: null }
    }
    case 'platform':
      return { proof: await authorize(work, 'platform.admin', platformKind, thePlatform), org_id: null, project_id: null }
  }
}

/** Done twice it is done once more: a token stays revoked since the first time, and of two cut-offs the later counts. */
export const revokeTokens: Answering<typeof Op> = async (work, { body }) => {
  const [subject_type, subject_id] = oneSubjectIn(body)
  const reason = body.reason ?? 'revoked'
  const issued_before = body.issued_before ?? work.now
  if (subject_type === 'token' && body.issued_before !== undefined) throw refused('issued_before', 'a single token has no cut-off')
  if (issued_before > work.now) throw refused('issued_before', 'must not lie in the future')

  const { proof, org_id, project_id } = await authorizeOn(work, subject_type, subject_id, body)
  let revoked_at = work.now
  if (subject_type === 'token') revoked_at = (await work.tx.one(revokeToken(proof, work.actor.id, reason, work.now))).revoked_at
  else {
    const cut = { id: newId('cutoff'), subject_type, subject_id, org_id, issued_before, created_by: work.actor.id, reason }
    await work.tx.one(insertCutOff(proof, { ...cut, is_of_all: body.issued_before === undefined }, work.now))
  }
  const until = subject_type === 'token' ? null : issued_before
  record(work, {
    action: 'auth.token.revoke',
    resource_type: subject_type,
    resource_id: subject_id ?? 'platform',
    tenant_id: org_id,
    project_id,
    severity: 'high',
    metadata: { subject_type, subject_id, issued_before: until, reason },
  })
  return { subject_type, subject_id, issued_before: until, revoked_at }
}
