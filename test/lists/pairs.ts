import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'

/** A list, and the operation that reads one of its items. */
export interface Pair {
  readonly list: Operation
  readonly read: Operation
}

export const lists = operations.filter(({ is_paged }) => is_paged)
const reads = operations.filter(({ method, is_paged, path }) => method === 'GET' && !is_paged && /\/:\w+$/.test(path))

const itemOf = ({ reply }: Operation) => (reply as unknown as { properties: { items: { items: unknown } } }).properties.items.items
const withoutLast = (path: string): string => path.slice(0, path.lastIndexOf('/'))

/** One level below the list; or, where it stands elsewhere, the only one that answers with the very shape of an item. */
const readOf = (list: Operation): Operation | undefined => {
  const below = reads.find(({ path }) => withoutLast(path) === list.path)
  if (below) return below
  const alike = reads.filter(({ reply }) => reply === itemOf(list))
  return alike.length === 1 ? alike[0] : undefined
}

export const pairs: readonly Pair[] = lists.flatMap((list) => {
  const read = readOf(list)
  return read ? [{ list, read }] : []
})

/**
 * What has no read of its own and is listed by the very right by which what it belongs to is read: versions, keys, tasks. It is answered
 * where that is.
 */
export const nested: readonly Pair[] = lists.flatMap((list) => {
  if (readOf(list)) return []
  const read = reads.find(({ path, actions }) => path === withoutLast(list.path) && actions.join() === list.actions.join())
  return read ? [{ list, read }] : []
})

const ofPlace = 'its items are read nowhere by themselves, lie where the list does, and have nothing that a rule could look at'
const ofOwn = 'it is about the asker himself, and no rule reaches that'
const ofLog = 'a record is read as a whole, by the right to the record; no row of it is read by itself'

/** What is compared with no read, and why not. A list that gets one has to leave here. */
export const unread: Readonly<Record<string, string>> = {
  'allocation.access_grant.list': 'no grant is read by itself; whoever may see only his own is shown those alone',
  'allocation.ssh_session.list': ofPlace,
  'auth.token.list_of_project': ofPlace,
  'auth.token.list_of_shared_runtime': ofPlace,
  'invitation.list_of_organization': ofPlace,
  'invitation.list_of_project': ofPlace,
  'node.signer.list': ofPlace,
  'organization.member.list': ofPlace,
  'policy.definition.list': ofPlace,
  'policy.value.list_of_organization': ofPlace,
  'policy.value.list_of_platform': ofPlace,
  'policy.value.list_of_project': ofPlace,
  'project.member.list': ofPlace,
  'project.member.ssh_key.list': ofPlace,
  'project.ssh_key.list': ofPlace,
  'ops.runbook.list': ofPlace,
  'role.list_builtin': ofPlace,
  'role_binding.list_of_organization': ofPlace,
  'role_binding.list_of_platform': ofPlace,
  'role_binding.list_of_project': ofPlace,
  'shared_runtime.credential.list': ofPlace,
  'shared_runtime.operator_credential.list': ofPlace,
  'signing_key.list': ofPlace,
  'me.invitation.list': ofOwn,
  'ssh_key.list': ofOwn,
  'audit_log.list_all': ofLog,
  'audit_log.list_of_organization': ofLog,
  'audit_log.list_of_project': ofLog,
  'shared_runtime.allocation.list':
    'no operator reads an allocation by itself; compared with what it may name as a member, beside the pairs',
  'shared_runtime.eligible_project.list': 'shows projects, to those who could attach them; compared with both, beside the pairs',
}
