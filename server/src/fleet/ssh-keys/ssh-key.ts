import type { Project } from '@gatehouse/contract/projects'
import type { Work } from '#ground/work/work.ts'
import { type Kind, nowhere } from '#rails/authz/kind.ts'

/** A key that has just ended, in this same transaction. */
export interface EndedKey {
  readonly id: string
  readonly user_id: string | null
  readonly project_id: string | null
  readonly fingerprint: string
}

/** Rooms above, which end what the key opened; any of them may refuse by throwing, and then nothing happened. */
export interface SshKeySubscribers {
  readonly onSshKeyDeleted: readonly ((work: Work, key: EndedKey, reason: string) => Promise<void>)[]
}

/** A key of the person's own, or all of them. Judged as his before it is known whether it is there: another's is like none. */
export const ownKeyKind = (ssh_key_id?: string): Kind<{ id: string }> => ({
  type: 'ssh_key',
  missing: 'ssh_key_not_found',
  placeOf: ({ id }, actor) => ({
    ...nowhere,
    id: ssh_key_id ?? id,
    relations: actor.type === 'user' && actor.id === id ? ['self'] : [],
  }),
})

/** The same in a project. */
export const projectKeyKind = (ssh_key_id?: string): Kind<Project> => ({
  type: 'ssh_key',
  missing: 'project_not_found',
  placeOf: ({ id, org_id }) => ({ id: ssh_key_id ?? id, tenant_id: org_id, project_id: id, relations: [] }),
})
