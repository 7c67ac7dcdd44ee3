import { createAllocation } from '../contract/src/allocations.ts'
import { createProject } from '../contract/src/projects.ts'
import { createAttachment, deleteAttachment } from '../contract/src/runtime-attachments.ts'
import { createSharedRuntime, disableSharedRuntime, enableSharedRuntime } from '../contract/src/shared-runtimes.ts'
import type { Actor } from '../server/src/ground/work/work.ts'
import type { ServerParts } from '../server/src/rails/http/server.ts'
import type { BodyOf } from './ask.ts'
import { type Answered, type LiveServer, type Sending, seeded } from './live-server.ts'
import { operatorWithSecret } from './operator-credential.ts'

const { org, project } = seeded
export const strange = '00000000-0000-7000-8000-000000000000'

/**
 * Operators who are believed at their word: whoever shows `operator.<org>.<runtime>` is that runtime's, with a token for everything. For
 * what no real token can be got for: an operator says what nobody would issue to it.
 */
export const believingOperators = (parts: ServerParts): ServerParts => ({
  ...parts,
  identify: async (shown, showing) => {
    const [word, tenant_id, id] = shown.token.split('.')
    if (word !== 'operator' || tenant_id === undefined || id === undefined) return parts.identify(shown, showing)
    const token = { jti: strange, tenant_id, project_id: null, shared_runtime_id: id, actions: null }
    const actor: Actor = { type: 'shared_runtime_operator', id, credential_id: strange, token }
    await showing.identified(actor)
    return actor
  },
})

const runtimesPath = (org_id: string = org.aurora) => `/api/v1/orgs/${org_id}/shared-app-runtimes`
let made = 0

/** What tests of shared runtimes do all the time. */
export const runtimesOn = (live: LiveServer) => {
  const one = (id: string, more = '', org_id: string = org.aurora) => `${runtimesPath(org_id)}/${id}${more}`
  const create = async (body: Partial<BodyOf<typeof createSharedRuntime>> = {}, who = 'adam', org_id: string = org.aurora) => {
    made += 1
    const whole = { app_slug: 'slurm', app_version: '24.05', display_name: `runtime ${made}`, runtime_backend: 'slurm' as const, ...body }
    return live.ask(who, createSharedRuntime, { params: { org_id }, body: whole })
  }
  const operators = new Map<string, ReturnType<typeof operatorWithSecret>>()
  const tokens = new Map<string, string>()
  /** The newest that this runtime's operator can get: what it was given before stays in its hand, however little it is good for. */
  const tokenOf = async (id: string): Promise<string> => {
    const operator = operators.get(id) ?? operatorWithSecret(live, id)
    operators.set(id, operator)
    const asked = tokens.has(id) && (await isGone(id)) ? null : await (await operator).ask()
    if (asked?.status === 200) tokens.set(id, asked.body.access_token)
    const token = tokens.get(id)
    if (token === undefined) throw new Error(`no token was issued: ${asked?.status} ${asked?.text}`)
    return token
  }
  /** Whether asking would only be slowed. */
  const isGone = async (id: string): Promise<boolean> =>
    (await live.sql(`select 1 from shared_app_runtimes where id = $1 and state in ('disabled', 'deleted')`, [id])).length > 0
  return {
    one,
    create,
    tokenOf,
    made: async (body: Partial<BodyOf<typeof createSharedRuntime>> = {}): Promise<string> => (await create(body)).body.id,
    attach: (id: string, project_id: string, contribution_policy: 'all' | 'none' | 'tagged' = 'all', who = 'adam') =>
      live.ask(who, createAttachment, { params: { org_id: org.aurora, shared_runtime_id: id }, body: { project_id, contribution_policy } }),
    detach: (id: string, attachment_id: string, who = 'adam') =>
      live.ask(who, deleteAttachment, {
        params: { org_id: org.aurora, shared_runtime_id: id, attachment_id },
        body: { reason: 'because' },
      }),
    move: (id: string, verb: 'disable' | 'enable', who = 'adam', base?: string) =>
      live.ask(who, verb === 'disable' ? disableSharedRuntime : enableSharedRuntime, {
        params: { org_id: org.aurora, shared_runtime_id: id },
        body: { reason: 'because' },
        base,
      }),
    /** As the operator of that runtime; of another one's path only if it says so. */
    operate: async (
      id: string,
      method: string,
      more = '',
      body?: object,
      {
        org_id = org.aurora,
        path = one(id, more, org_id),
        base,
        headers = {},
        token,
      }: { org_id?: string; path?: string; base?: string; headers?: Sending['headers']; token?: string } = {},
    ): Promise<Answered> => {
      const authorization = `Bearer ${token ?? (await tokenOf(id))}`
      return live.call(null, method, path, { ...(body ? { body } : {}), headers: { authorization, ...headers } }, base)
    },
    /** Another project of the same tenant. */
    project: async (): Promise<string> => {
      made += 1
      const { body } = await live.ask('alice', createProject, { params: { org_id: org.aurora }, body: { name: 'p', slug: `p-${made}` } })
      return body.id
    },
    allocation: async (project_id: string = project.aurora, more: object = {}, who = 'asha'): Promise<string> => {
      const body = { project_id, name: 'a run', region: 'nowhere', sku: 'h100', gpus: 1, ...more }
      const asked = await live.ask(who, createAllocation, { body })
      if (asked.status !== 201) throw new Error(asked.text)
      return asked.body.id
    },
  }
}
export type Runtimes = ReturnType<typeof runtimesOn>
