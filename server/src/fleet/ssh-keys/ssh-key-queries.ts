import type { Project } from '@gatehouse/contract/projects'
import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import { MemberSshKey, SshKey } from '@gatehouse/contract/ssh-keys'
import Type, { type Static } from 'typebox'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import type { PublicKey } from './ssh-public-key.ts'

/** A key as other rooms need it: whose it is, and what goes into a set of keys. */
export const SshKeyRow = Exactly({
  id: Type.String(),
  /** One of the two: a person's own, or the automation's of a project. */
  user_id: Nullable(Type.String()),
  project_id: Nullable(Type.String()),
  name: Type.String(),
  key_type: SshKey.properties.key_type,
  bits: Type.Integer(),
  blob: Type.String(),
  fingerprint: Type.String(),
  created_at: Type.String(),
  deleted_at: Nullable(Type.String()),
})
export type SshKeyRow = Static<typeof SshKeyRow>

/** For whoever ends it. */
export const lockSshKey = (id: string) => sql(SshKeyRow)`
  select ${columns(SshKeyRow)} from ssh_public_keys where id = ${id} and deleted_at is null for no key update`

/** For those who build on them: until they are done nobody ends one. In the order of ids, so that no two wait for each other. */
export const holdSshKeys = (ids: readonly string[]) => sql(SshKeyRow)`
  select ${columns(SshKeyRow)} from ssh_public_keys where id = any (${ids}::uuid[]) and deleted_at is null order by id for share`

/** As its owner sees it. */
const told = sqlPart(`id, name, key_type, bits, fingerprint, created_at, user_id, project_id, key_type || ' ' || blob as public_key`)

export const keysOfUser = (user_id: string, after: string | null, limit: number) => sql(SshKey)`
  select ${told} from ssh_public_keys
   where user_id = ${user_id} and deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
   order by id limit ${limit}`

export const keysOfProject = (project_id: string, after: string | null, limit: number) => sql(SshKey)`
  select ${told} from ssh_public_keys
   where project_id = ${project_id} and deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
   order by id limit ${limit}`

/** What others may know of a person's keys. */
export const memberSshKeys = (user_id: string, after: string | null, limit: number) => sql(MemberSshKey)`
  select ${columns(MemberSshKey)} from ssh_public_keys
   where user_id = ${user_id} and deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
   order by id limit ${limit}`

/** Nobody else adds a key of this person's meanwhile. */
export const lockOwner = (user_id: string) => sql(Exactly({ id: Type.String() }))`
  select id from users where id = ${user_id} for no key update`

/** How many keys there are already, and whether this is among them. */
export const keysSoFar = (owner: KeyOwner, fingerprint: string) => sql(Exactly({ count: Type.Integer(), is_there: Type.Boolean() }))`
  select count(*)::int as count, coalesce(bool_or(fingerprint = ${fingerprint}), false) as is_there
    from ssh_public_keys
   where (user_id = ${owner.user_id}::uuid or project_id = ${owner.project_id}::uuid) and deleted_at is null`

export interface KeyOwner {
  readonly user_id: string | null
  readonly org_id: string | null
  readonly project_id: string | null
}

export type Managing = Authorized<'me.ssh_key.manage', { id: string }> | Authorized<'project.ssh_key.manage', Project>
interface NewKey extends PublicKey {
  readonly id: string
  readonly name: string
  readonly owner: KeyOwner
}
interface By {
  readonly type: string
  readonly id: string
}

export const insertSshKey = (_proof: Managing, { owner, ...key }: NewKey, by: By, now: string) => sql(SshKey)`
  insert into ssh_public_keys
    (id, user_id, org_id, project_id, name, key_type, bits, blob, fingerprint, created_at, created_by_type, created_by)
  values (${key.id}, ${owner.user_id}, ${owner.org_id}, ${owner.project_id}, ${key.name}, ${key.key_type}, ${key.bits}, ${key.blob},
    ${key.fingerprint}, ${now}, ${by.type}, ${by.id})
  returning ${told}`

export const endSshKey = (_proof: Managing, id: string, by: string, reason: string, now: string) => sql(Exactly({ id: Type.String() }))`
  update ssh_public_keys set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where id = ${id} and deleted_at is null
  returning id`
