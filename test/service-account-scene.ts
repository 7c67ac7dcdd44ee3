import { expect } from 'vitest'
import { createProjectBinding } from '../contract/src/role-bindings.ts'
import { createProjectRole } from '../contract/src/roles.ts'
import { createServiceAccountKey } from '../contract/src/service-accounts.ts'
import type { Somebody } from './crowd.ts'
import { type LiveServer, seeded } from './live-server.ts'

const { project } = seeded
export const nobody = '01890000-0000-7000-8000-000000000000'
export const because = { reason: 'because' }
const training = `/api/v1/projects/${project.aurora}`
export const accounts = `${training}/service-accounts`

let words = 0
export const word = () => {
  words += 1
  return `word-${words}`
}
export const one = (id: string) => `${accounts}/${id}`
export const keysOf = (id: string) => `${one(id)}/keys`
export const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
export const ceiling = { reason_code: 'permission_denied', detail: 'assignment_ceiling' }

/** Steps that tests of service accounts share. */
export const serviceAccountsOn = (live: LiveServer) => {
  const make = async (person = 'aldo', at = accounts): Promise<string> => {
    const { status, body } = await live.call(person, 'POST', at, { body: { name: 'Robot', slug: word(), ...because } })
    expect(status).toBe(201)
    return body.id
  }
  const makeKey = (person: string, id: string, body: object = {}, headers = {}) =>
    live.ask(person, createServiceAccountKey, { params: { project_id: project.aurora, service_account_id: id }, body, headers })
  const bind = (person: string, id: string, role: object) =>
    live.ask(person, createProjectBinding, {
      params: { project_id: project.aurora },
      body: { principal_type: 'service_account', principal_id: id, ...role },
    })
  const define = async (permissions: string[], more: object = { is_assignable_to_service_accounts: true }): Promise<string> => {
    const { status, body } = await live.ask('amara', createProjectRole, {
      params: { project_id: project.aurora },
      body: { name: word(), permissions, ...more },
    })
    expect(status).toBe(201)
    return body.id
  }
  /** Somebody with these permissions and no others. */
  const holding = async (person: Somebody, permissions: string[]) => {
    await live.sql(
      `update project_role_bindings set deleted_at = now(), delete_reason = 'x' where principal_id = $1 and deleted_at is null`,
      [person.id],
    )
    const role_id = await define(permissions, {})
    const body = { principal_type: 'user', principal_id: person.id, role_id } as const
    expect((await live.ask('amara', createProjectBinding, { params: { project_id: project.aurora }, body })).status).toBe(201)
    return person.subject
  }
  return { bind, define, holding, make, makeKey }
}
