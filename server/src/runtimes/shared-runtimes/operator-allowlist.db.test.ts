import { operation } from '@gatehouse/contract/operation'
import { Exactly } from '@gatehouse/contract/shapes'
import { oneRuntime } from '@gatehouse/contract/shared-runtimes'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { answer } from '#rails/http/answer.ts'
import type { ServerParts } from '#rails/http/server.ts'
import { pathOf, rightfulCalls, sendingOf } from '../../../../test/fuzz/rightful-calls.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { operatorWithSecret } from '../../../../test/operator-credential.ts'
import { runtimesOn, strange } from '../../../../test/runtime-scene.ts'
import { authorizeToSee } from './runtime-scope.ts'

const { org, project } = seeded

/** A runtime that may attach and detach by itself, and what its operator shows. */
let own: string
let operator: string
const live = serverFixture({ policies: noRateLimits }, async (live) => {
  own = await runtimesOn(live).made({ delegated_actions: ['attach', 'detach'], eligible_project_ids: [project.aurora] })
  operator = await (await operatorWithSecret(live, own)).token()
})

describe('the allowlist by default', () => {
  const runtime = '/api/v1/orgs/:org_id/shared-app-runtimes/:shared_runtime_id'
  /** By hand, from MI-04 and MI-05: what a token of a runtime with both delegations opens. */
  const open = [
    `DELETE ${runtime}/attachments/:attachment_id`,
    `GET ${runtime}`,
    `GET ${runtime}/allocations`,
    `GET ${runtime}/attachments`,
    `GET ${runtime}/attachments/:attachment_id`,
    `GET ${runtime}/members`,
    'POST /api/v1/deliveries/unwrap',
    `POST ${runtime}/attachments`,
    `POST ${runtime}/credential-deliveries`,
    `PUT ${runtime}/members`,
    `PUT ${runtime}/status`,
  ]
  /** A read of the runtime like those on the list: the engine would allow it. */
  const dummy = (actors: readonly ('user' | 'shared_runtime_operator')[]) =>
    operation({
      ...{
        id: 'dummy.read',
        method: 'GET',
        path: `${runtime}/dummy`,
        summary: 'Of this test alone.',
        effect: 'read',
        problems: oneRuntime.gone,
      },
      ...{ actors, action: 'tenant.shared_runtime.read', params: oneRuntime.params, reply: Exactly({ is_there: Type.Boolean() }) },
    })
  const withDummy =
    (asked: ReturnType<typeof dummy>) =>
    (parts: ServerParts): ServerParts => {
      const answering = answer(asked, async (work, { params }) => {
        await authorizeToSee(work, 'tenant.shared_runtime.read', params)
        return { is_there: true }
      })
      return { ...parts, answers: [...parts.answers, answering] }
    }

  /** Which operations let the operator in, be it only to look for what is not there. */
  const walk = async (base: string, more: readonly ReturnType<typeof dummy>[] = []) => {
    const calls = [
      ...rightfulCalls.filter(({ operation: { identified_by } }) => identified_by === 'bearer'),
      ...more.map((each) => ({ operation: each, params: {}, body: undefined, query: undefined })),
    ]
    const let_in: string[] = []
    const odd: unknown[] = []
    for (const { operation: each, params, body, query } of calls) {
      const own_params = { ...params, org_id: org.aurora, shared_runtime_id: own, attachment_id: strange }
      const path = `${pathOf(each.path, own_params)}${query === undefined ? '' : `?${query}`}`
      const sending = sendingOf(each, each.id === 'shared_runtime.attachment.create' ? { ...body, project_id: project.aurora } : body)
      const headers = { ...sending.headers, authorization: `Bearer ${operator}` }
      const { status, body: told } = await live.call(null, each.method, path, { ...sending, headers }, base)
      if (status !== 403) let_in.push(`${each.method} ${each.path}`)
      else if (told.details?.reason_code !== 'permission_denied') odd.push([each.id, told])
    }
    expect(odd).toEqual([])
    return let_in.sort()
  }

  test('MI-05 X4 every route is asked with an operator’s token: what is on the list lets it in, and nothing else does', async () => {
    expect(await walk(live.url)).toEqual(open)
  })

  test('MI-03 the operator of another runtime of the same tenant is refused wherever this one is named', async () => {
    const others = await (await operatorWithSecret(live, await runtimesOn(live).made({ delegated_actions: ['attach', 'detach'] }))).token()
    const named = rightfulCalls.filter(
      ({ operation: { path, actors } }) => path.includes(':shared_runtime_id') && actors.includes('shared_runtime_operator'),
    )
    expect(named.length).toBe(open.length - 1)
    for (const { operation: each, params, body } of named) {
      const path = pathOf(each.path, { ...params, org_id: org.aurora, shared_runtime_id: own, attachment_id: strange })
      const sending = sendingOf(each, body)
      const headers = { ...sending.headers, authorization: `Bearer ${others}` }
      const { status, body: told } = await live.call(null, each.method, path, { ...sending, headers })
      expect([each.id, status, told.details]).toMatchObject([each.id, 403, { reason_code: 'scope_mismatch' }])
    }
  })

  test('MI-05 X4 a route that nobody thought of is closed to operators, without a word in any list', async () => {
    const fresh = dummy(['user'])
    const { url } = await live.replica(withDummy(fresh))
    expect((await live.call('anna', 'GET', pathOf(fresh.path, { org_id: org.aurora, shared_runtime_id: own }), {}, url)).body).toEqual({
      is_there: true,
    })
    expect(await walk(url, [fresh])).toEqual(open)
  })

  test('X4 the walk notices a route that admits operators', async () => {
    const wide = dummy(['user', 'shared_runtime_operator'])
    const { url } = await live.replica(withDummy(wide))
    expect(await walk(url, [wide])).toEqual([...open, `GET ${runtime}/dummy`].sort())
  })
})
