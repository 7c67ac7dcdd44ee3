import { createAttachment } from '@gatehouse/contract/runtime-attachments'
import { describe, expect, test } from 'vitest'
import type { Actor } from '#ground/work/work.ts'
import type { ServerParts } from '#rails/http/server.ts'
import { alteredDatabase } from '../../../../test/altered-database.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { operatorWithSecret } from '../../../../test/operator-credential.ts'
import { runtimesOn, strange } from '../../../../test/runtime-scene.ts'

const { org, project } = seeded

/** Its attachments: one that counts, one that does not any more. The other runtime has one that counts, too. */
let own: string
let other: string
let attached: string
let detached: string
let detached_project: string
let operator: string
let account: string
const live = serverFixture({ policies: noRateLimits }, async (live) => {
  own = await runtimes.made({ delegated_actions: ['attach', 'detach'], eligible_project_ids: [project.aurora] })
  other = await runtimes.made()
  detached_project = await runtimes.project()
  attached = (await runtimes.attach(own, project.aurora)).body.id
  detached = (await runtimes.attach(own, detached_project)).body.id
  await runtimes.detach(own, detached)
  await runtimes.attach(other, detached_project)
  operator = await (await operatorWithSecret(live, own)).token()
  account = (await (await machineWithSecret(live)).ask()).body.access_token
})
const runtimes = runtimesOn(live)

const conditions = ['class', 'org', 'runtime', 'endpoint', 'attached'] as const
type Condition = (typeof conditions)[number]
type Holds = Readonly<Record<Condition, boolean>>
const combinations = Array.from(
  { length: 32 },
  (_, bits) => Object.fromEntries(conditions.map((condition, at) => [condition, (bits & (1 << at)) !== 0])) as Holds,
)

/**
 * By hand, from MI-03. An operation says whom it admits before anything is looked at; then the path is held against the token; what is
 * in the tables comes last.
 */
const expectedOf = (is: Holds): readonly [number, string | undefined] => {
  if (!is.class || !is.endpoint) return [403, 'permission_denied']
  if (!is.org || !is.runtime) return [403, 'scope_mismatch']
  return is.attached ? [200, undefined] : [403, 'membership_missing']
}

const named = (is: Holds) => ({ org_id: is.org ? org.aurora : org.borealis, shared_runtime_id: is.runtime ? own : other })
/** The same attachment, looked at (which is on the list) or changed (which is not). */
const ask = (is: Holds, headers: Record<string, string> = {}, base?: string): Promise<Answered> => {
  const { org_id, shared_runtime_id } = named(is)
  const path = runtimes.one(shared_runtime_id, `/attachments/${is.attached ? attached : detached}`, org_id)
  const authorization = `Bearer ${is.class ? operator : account}`
  const body = is.endpoint ? {} : { body: { contribution_policy: 'all', reason: 'because' } }
  return live.call(null, is.endpoint ? 'GET' : 'PATCH', path, { ...body, headers: { authorization, ...headers } }, base)
}

describe('the five conditions, asked over HTTP with tokens that were issued', () => {
  test('MI-03 X3 of all 32 combinations one is answered, and each other is 403 for its own reason', async () => {
    for (const is of combinations) {
      const { status, body } = await ask(is)
      expect([is, status, body.details?.reason_code]).toEqual([is, ...expectedOf(is)])
    }
  })

  test('MI-08 X3 each is in the record, with the runtime, and with the project where one is involved', async () => {
    for (const [at, is] of combinations.filter((each) => each.class).entries()) {
      const correlation_id = `five-conditions-${at}`
      await ask(is, { 'x-request-id': correlation_id })
      const [status, reason_code = null] = expectedOf(is)
      const isInvolved = status === 200 || reason_code === 'membership_missing'
      expect(await live.auditOf(correlation_id)).toMatchObject([
        {
          actor_type: 'shared_runtime_operator',
          actor_id: own,
          tenant_id: org.aurora,
          project_id: isInvolved ? (is.attached ? project.aurora : detached_project) : null,
          result: status === 200 ? 'success' : 'denied',
          reason_code,
          metadata: { shared_runtime_id: own },
        },
      ])
    }
  })

  /** Builds in which one of the five is not looked at. */
  let asked = named(combinations[31]!)
  const believing =
    (actorOf: (actor: Actor) => Actor) =>
    (parts: ServerParts): ServerParts => ({
      ...parts,
      identify: async (shown, showing) => {
        const taken = { ...showing, identified: (actor: Actor) => showing.identified(actorOf(actor)) }
        return actorOf(await parts.identify(shown, taken))
      },
    })
  const operatorOf = (org_id: string, id: string): Actor => ({
    ...{ type: 'shared_runtime_operator', id, credential_id: strange },
    token: { jti: strange, tenant_id: org_id, project_id: null, shared_runtime_id: id, actions: null },
  })
  const widened = (parts: ServerParts): ServerParts => ({
    ...parts,
    answers: parts.answers.map((each) => {
      if (each.operation.id !== 'shared_runtime.attachment.update') return each
      const looks = parts.answers.find(({ operation: { id } }) => id === 'shared_runtime.attachment.read')!
      const { actors, actions } = looks.operation
      return { ...looks, operation: { ...each.operation, actors, actions, effect: 'read', repeated_by: undefined } }
    }) as ServerParts['answers'],
  })
  const deaf: Record<Condition, (parts: ServerParts) => ServerParts> = {
    class: believing(() => operatorOf(org.aurora, own)),
    org: believing((actor) => (actor.type === 'shared_runtime_operator' ? operatorOf(asked.org_id, own) : actor)),
    runtime: believing((actor) => (actor.type === 'shared_runtime_operator' ? operatorOf(org.aurora, asked.shared_runtime_id) : actor)),
    endpoint: widened,
    attached: (parts) => {
      const text = (said: string) => said.replaceAll(' and a.detached_at is null', '')
      return { ...parts, database: alteredDatabase(parts.database, { of: 'shared_runtime_attachments', text }) }
    },
  }

  test.each(conditions)('MI-03 X3 the combinations notice a build that does not look at: %s', async (condition) => {
    const { url } = await live.replica(deaf[condition])
    const wrong = []
    for (const is of combinations) {
      asked = named(is)
      const { status, body } = await ask(is, {}, url)
      if (JSON.stringify([status, body.details?.reason_code]) !== JSON.stringify(expectedOf(is))) wrong.push(is)
    }
    const alone = Object.fromEntries(conditions.map((each) => [each, each !== condition]))
    expect(wrong).toContainEqual(alone)
  })
})

test('MI-05 an operator that may attach learns nothing of projects: one that is not there, another tenant’s and one off its list answer alike', async () => {
  const attach = async (project_id: string) => {
    const { status, text, body } = await live.ask(null, createAttachment, {
      params: { org_id: org.aurora, shared_runtime_id: own },
      body: { project_id, contribution_policy: 'all' },
      headers: { authorization: `Bearer ${operator}` },
    })
    return [status, body.details?.reason_code, text.replace(body.correlation_id!, '')]
  }
  const unlisted = await attach(detached_project)
  expect(unlisted.slice(0, 2)).toEqual([403, 'membership_missing'])
  for (const unknown of [strange, project.borealis]) expect(await attach(unknown)).toEqual(unlisted)
})
