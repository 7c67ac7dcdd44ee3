import { readAllocation } from '@gatehouse/contract/allocations'
import { createProjectConstraint, deleteProjectConstraint } from '@gatehouse/contract/constraints'
import { createOperatorCredential, revokeOperatorCredential } from '@gatehouse/contract/operator-credentials'
import { listAttachments } from '@gatehouse/contract/runtime-attachments'
import { listRuntimeMembers, readSharedRuntime, updateSharedRuntime } from '@gatehouse/contract/shared-runtimes'
import { describe, expect, test } from 'vitest'
import { alteredDatabase } from '../../../../test/altered-database.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { runtimesOn, strange } from '../../../../test/runtime-scene.ts'

const because = { reason: 'because' }

const live = serverFixture({ policies: noRateLimits })
const runtimes = runtimesOn(live)

const { org, project } = seeded
const { move } = runtimes
const member = (name: string, allocation_id: string | null = null) => ({ name, role: 'worker', state: 'ready', allocation_id })
const recordOf = async (answered: Answered) => {
  const rows = await live.auditOf(answered.headers.get('x-request-id')!)
  expect(rows).toHaveLength(1)
  return rows[0]!
}
const refused = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code]
const denied = (reason_code: string) => [403, 'insufficient_permissions', reason_code]
const runtimeOf = async (id: string) =>
  (await live.ask('adam', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } })).body
const rewrite = async (id: string, body: object) =>
  live.ask('adam', updateSharedRuntime, {
    params: { org_id: org.aurora, shared_runtime_id: id },
    body: { expected_version: (await runtimeOf(id)).version, ...body, ...because },
  })

describe('what an operator may not decide, or undo', () => {
  const both = { delegated_actions: ['attach' as const, 'detach' as const] }
  const attach = (id: string, project_id: string, contribution_policy: string) =>
    runtimes.operate(id, 'POST', '/attachments', { project_id, contribution_policy })

  test('MI-05 X3 it attaches with no larger contribution than its tenant lets it say; more is refused, and recorded', async () => {
    const project_id = await runtimes.project()
    const id = await runtimes.made({ ...both, eligible_project_ids: [project_id] })
    expect(await runtimeOf(id)).toMatchObject({ delegated_contribution_policy: 'none' })
    const order = ['none', 'tagged', 'all']
    for (const [most, bound] of order.entries()) {
      if (most > 0)
        expect((await rewrite(id, { delegated_contribution_policy: bound })).body).toMatchObject({ delegated_contribution_policy: bound })
      for (const [asked, contribution_policy] of order.entries()) {
        const answered = await attach(id, project_id, contribution_policy)
        if (asked > most) {
          expect([bound, contribution_policy, ...refused(answered)]).toEqual([bound, contribution_policy, ...denied('permission_denied')])
          expect(await live.auditOf(answered.headers.get('x-request-id')!)).toMatchObject([
            {
              action: 'shared_runtime.attachment.create',
              result: 'denied',
              reason_code: 'permission_denied',
              tenant_id: org.aurora,
              project_id,
            },
          ])
        } else {
          expect([bound, answered.status, answered.body.contribution_policy]).toEqual([bound, 201, contribution_policy])
          expect((await runtimes.operate(id, 'DELETE', `/attachments/${answered.body.id}`, because)).status).toBe(200)
        }
      }
    }
    // People are bound by nothing of it.
    await rewrite(id, { delegated_contribution_policy: 'none' })
    expect((await runtimes.attach(id, project_id, 'all')).status).toBe(201)
    const made = await runtimes.create({ delegated_contribution_policy: 'tagged' })
    expect(made.body).toMatchObject({ delegated_contribution_policy: 'tagged' })
    const [recorded] = await live.auditOf(made.headers.get('x-request-id')!)
    expect(recorded!.metadata).toMatchObject({ delegated_contribution_policy: 'tagged' })
  })

  test('MI-05 MI-07 X5 a project that people have detached it cannot attach again; one that it has detached itself it can', async () => {
    const [project_id, other] = [await runtimes.project(), await runtimes.project()]
    const id = await runtimes.made({ ...both, eligible_project_ids: [project_id, other] })
    const own = await attach(id, project_id, 'none')
    expect((await runtimes.operate(id, 'DELETE', `/attachments/${own.body.id}`, because)).status).toBe(200)
    expect(await runtimeOf(id)).toMatchObject({ version: 1, eligible_project_ids: [project_id, other] })
    const again = await attach(id, project_id, 'none')
    expect(again.status).toBe(201)

    const ended = await runtimes.detach(id, again.body.id)
    expect(ended.status).toBe(200)
    expect(await runtimeOf(id)).toMatchObject({ version: 2, eligible_project_ids: [other] })
    const [recorded] = await live.auditOf(ended.headers.get('x-request-id')!)
    expect(recorded!.metadata).toMatchObject({ shared_runtime_id: id, eligible_project_ids: [other], version: 2 })
    expect(refused(await attach(id, project_id, 'none'))).toEqual(denied('membership_missing'))
    expect((await attach(id, other, 'none')).status).toBe(201)

    // What was on no list changes nothing of it.
    const third = await runtimes.project()
    const { body: attached } = await runtimes.attach(id, third)
    const let_go = await runtimes.detach(id, attached.id)
    expect(await runtimeOf(id)).toMatchObject({ version: 2, eligible_project_ids: [other] })
    expect((await live.auditOf(let_go.headers.get('x-request-id')!))[0]!.metadata).not.toHaveProperty('eligible_project_ids')
    // People may let it again.
    expect((await rewrite(id, { eligible_project_ids: [project_id, other] })).status).toBe(200)
    expect((await attach(id, project_id, 'none')).status).toBe(201)
  })
})

describe('numbers of reports', () => {
  test('MI-04 X5 one that has said the highest number does not mute its runtime: enabling begins the numbers anew, and keeps what was said', async () => {
    const id = await runtimes.made()
    const status = (sequence: number) => runtimes.operate(id, 'PUT', '/status', { sequence, state: 'running', message: 'up' })
    const members = (sequence: number, ...told: object[]) => runtimes.operate(id, 'PUT', '/members', { sequence, members: told })
    const highest = Number.MAX_SAFE_INTEGER
    expect([(await status(highest)).body, (await members(highest, member('a'))).body]).toEqual([
      { is_taken: true, sequence: highest },
      { is_taken: true, sequence: highest },
    ])
    expect((await status(highest)).body.is_taken).toBe(false)
    await move(id, 'disable')
    expect((await runtimeOf(id)).reported_sequence).toBe(highest)
    const enabled = await move(id, 'enable')
    expect(enabled.body).toMatchObject({ state: 'running', reported_state: 'running', reported_message: 'up', reported_sequence: 0 })
    expect((await live.ask('adam', listRuntimeMembers, { params: { org_id: org.aurora, shared_runtime_id: id } })).body).toMatchObject({
      sequence: 0,
      members: [member('a')],
    })
    expect([(await status(1)).body, (await members(1)).body]).toEqual([
      { is_taken: true, sequence: 1 },
      { is_taken: true, sequence: 1 },
    ])
  })
})

describe('members and the rules of the projects', () => {
  test('MI-04 X3 an allocation that its project hides cannot be named, and is told to nobody who may not read it', async () => {
    const id = await runtimes.made()
    await runtimes.attach(id, project.aurora, 'all')
    const allocation_id = await runtimes.allocation()
    const report = (sequence: number, named: string) =>
      runtimes.operate(id, 'PUT', '/members', { sequence, members: [member('a', named), member('b')] })
    const bytesOf = ({ status, text, body }: Answered) => [status, text.replace(body.correlation_id, '')]
    const told = ({ body }: Answered): string | null => body.members[0].allocation_id
    const toOperator = async () => told(await runtimes.operate(id, 'GET', '/members'))
    expect((await report(1, allocation_id)).body).toEqual({ is_taken: true, sequence: 1 })
    expect(await toOperator()).toBe(allocation_id)
    // People are told exactly what a read of the allocation would show them.
    const seen = new Set<boolean>()
    for (const who of ['alice', 'adam', 'anna', 'asha']) {
      const { status } = await live.ask(who, readAllocation, { params: { allocation_id } })
      const shown = told(await live.ask(who, listRuntimeMembers, { params: { org_id: org.aurora, shared_runtime_id: id } }))
      expect([who, shown]).toEqual([who, status === 200 ? allocation_id : null])
      seen.add(status === 200)
    }
    expect(seen.size).toBe(2)
    const forOperators = { in: { actor_type: ['shared_runtime_operator'] } }
    const rule = { key: 'hide-members', actions: ['shared_runtime.allocation.read'], condition: forOperators, ...because }
    const { body: made } = await live.ask('alice', createProjectConstraint, { params: { project_id: project.aurora }, body: rule })
    const unknown = await report(2, strange)
    expect(refused(unknown)).toEqual([403, 'insufficient_permissions', 'membership_missing'])
    expect(bytesOf(await report(2, allocation_id))).toEqual(bytesOf(unknown))
    expect(await toOperator()).toBeNull()
    expect(told(await live.ask('asha', listRuntimeMembers, { params: { org_id: org.aurora, shared_runtime_id: id } }))).toBe(allocation_id)
    await live.ask('alice', deleteProjectConstraint, { params: { project_id: project.aurora, constraint_id: made.id }, body: because })
    expect(await toOperator()).toBe(allocation_id)
    expect((await report(2, allocation_id)).body.is_taken).toBe(true)
  })
})

describe('what a project’s own rules hide', () => {
  const forOperators = { in: { actor_type: ['shared_runtime_operator'] } }
  const hiding = async (project_id: string, actions: string[], then: () => Promise<void>) => {
    const { status, body } = await live.ask('alice', createProjectConstraint, {
      params: { project_id },
      body: { key: 'hide', actions, condition: forOperators, ...because },
    })
    expect(status).toBe(201)
    await then().finally(() =>
      live.ask('alice', deleteProjectConstraint, { params: { project_id, constraint_id: body.id }, body: because }),
    )
  }

  test('MI-03 D8 an operator’s list of attachments shows exactly those that it may read, whatever the size of its pages', async () => {
    const id = await runtimes.made()
    const shown: string[] = []
    const attached = async (project_id: string): Promise<string> => (await runtimes.attach(id, project_id)).body.id
    shown.push(await attached(await runtimes.project()))
    const hidden = await attached(project.aurora)
    shown.push(await attached(await runtimes.project()))
    const listed = async (limit: number) => {
      const ids: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await runtimes.operate(id, 'GET', `/attachments?limit=${limit}${cursor && `&cursor=${cursor}`}`)
        ids.push(...body.items.map((item: { id: string }) => item.id))
        cursor = body.next_cursor
      }
      return ids
    }
    expect(await listed(200)).toEqual([...shown, hidden].sort())
    await hiding(project.aurora, ['tenant.shared_runtime.read'], async () => {
      for (const each of shown) expect((await runtimes.operate(id, 'GET', `/attachments/${each}`)).status).toBe(200)
      expect(refused(await runtimes.operate(id, 'GET', `/attachments/${hidden}`))).toEqual(denied('policy_constraint_denied'))
      for (const limit of [1, 2, 200]) expect([limit, await listed(limit)]).toEqual([limit, shown])
      // People see to it as the tenant's.
      expect((await live.ask('adam', listAttachments, { params: { org_id: org.aurora, shared_runtime_id: id } })).body.items).toHaveLength(
        3,
      )
    })
  })

  test('MI-04 what is hidden is passed over in few statements, however small the page', async () => {
    const [id, project_id] = [await runtimes.made(), await runtimes.project()]
    await runtimes.attach(id, project_id)
    await live.sql(
      `insert into allocations
       select (jsonb_populate_record(null::allocations, to_jsonb(a) || jsonb_build_object('id', gen_random_uuid(), 'project_id', $2::text))).*
         from allocations a, generate_series(1, 1000) where a.id = $1`,
      [await runtimes.allocation(), project_id],
    )
    let reads = 0
    const { url: base } = await live.replica((parts) => ({
      ...parts,
      database: alteredDatabase(parts.database, {
        of: 'join shared_runtime_attachments t on t.project_id',
        after: async () => {
          reads += 1
        },
      }),
    }))
    await hiding(project_id, ['shared_runtime.allocation.read'], async () => {
      const { status, body } = await runtimes.operate(id, 'GET', '/allocations?limit=1', undefined, { base })
      expect([status, body]).toEqual([200, { items: [], next_cursor: null }])
      expect(reads).toBeLessThanOrEqual(10)
    })
    // For whoever is refused whatever rules say, none is looked at; and what he was refused is a look at the runtime.
    expect((await move(id, 'disable')).status).toBe(200)
    reads = 0
    const answered = await runtimes.operate(id, 'GET', '/allocations?limit=1', undefined, { base })
    expect([answered.status, reads]).toEqual([403, 0])
    expect(await recordOf(answered)).toMatchObject({ result: 'denied', resource_type: 'shared_runtime', resource_id: id })
  })
})

describe('what is recorded of an operator’s reads', () => {
  test('MI-08 the projects of which it was shown something, and the project itself where it was one', async () => {
    const id = await runtimes.made()
    const other = await runtimes.project()
    const both = [project.aurora, other].sort()
    await runtimes.attach(id, project.aurora, 'tagged')
    const read = async (more: string) => {
      const answered = await runtimes.operate(id, 'GET', more)
      const { action, project_id, metadata } = await recordOf(answered)
      return { answered, told: [action, project_id, (metadata as { project_ids?: string[] }).project_ids] }
    }
    const one = [project.aurora, [project.aurora]]
    expect((await read('/attachments')).told).toEqual(['shared_runtime.attachment.list', ...one])
    expect((await read('/allocations')).told).toEqual(['shared_runtime.allocation.list', null, undefined])
    const allocation_id = await runtimes.allocation(project.aurora, { shared_runtime_id: id })
    expect((await read('/allocations')).told).toEqual(['shared_runtime.allocation.list', ...one])
    await runtimes.operate(id, 'PUT', '/members', { sequence: 1, members: [member('a', allocation_id), member('b')] })
    expect((await read('/members')).told).toEqual(['shared_runtime.members.read', ...one])

    await runtimes.attach(id, other, 'all')
    const elsewhere = await runtimes.allocation(other, {}, 'alice')
    await runtimes.allocation(other, {}, 'alice')
    await runtimes.operate(id, 'PUT', '/members', { sequence: 2, members: [member('a', allocation_id), member('b', elsewhere)] })
    for (const more of ['/attachments', '/allocations', '/members']) expect((await read(more)).told.slice(1)).toEqual([null, both])
    // A page is told by what is on it.
    const { answered, told } = await read('/allocations?limit=1')
    const [{ project_id }] = answered.body.items
    expect(told.slice(1)).toEqual([project_id, [project_id]])
  })
})

describe('what is recorded of a refused report', () => {
  test('MI-08 X3 the allocations of its tenant that it named without a part in them, and their project; nothing of another tenant’s', async () => {
    const [id, own] = [await runtimes.made(), await runtimes.project()]
    const allocation_id = await runtimes.allocation()
    const foreign = await runtimes.allocation(project.borealis, {}, 'berta')
    const reported = (...named: string[]) =>
      runtimes.operate(id, 'PUT', '/members', { sequence: 1, members: named.map((each, n) => member(`m${n}`, each)) })
    await runtimes.attach(id, own, 'all')
    const told = async (answered: Answered) => {
      expect(refused(answered)).toEqual(denied('membership_missing'))
      const { resource_type, resource_id, tenant_id, project_id, metadata } = await recordOf(answered)
      const { allocation_ids, project_ids, shared_runtime_id } = metadata as Record<string, unknown>
      expect([resource_type, resource_id, tenant_id, shared_runtime_id]).toEqual(['shared_runtime', id, org.aurora, id])
      return { project_id, project_ids, allocation_ids }
    }
    const one = { project_id: project.aurora, project_ids: [project.aurora], allocation_ids: [allocation_id] }
    expect(await told(await reported(allocation_id))).toEqual(one)
    expect(await told(await reported(foreign, strange, allocation_id))).toEqual(one)
    const none = { project_id: null, project_ids: [], allocation_ids: [] }
    expect(await told(await reported(foreign))).toEqual(none)
    expect(await told(await reported(strange))).toEqual(none)
  })
})

describe('how many members fit', () => {
  test('MI-04 a thousand of the longest in ASCII; names that take more bytes make the body too large', async () => {
    const id = await runtimes.made()
    await runtimes.attach(id, project.aurora, 'all')
    const allocation_id = await runtimes.allocation()
    const members = (letter: string) =>
      Array.from({ length: 1000 }, (_, n) => ({
        ...{ name: `${n}`.padEnd(100, letter), role: 'r'.repeat(63), state: 'draining', allocation_id },
      }))
    const report = (sequence: number, letter: string) => runtimes.operate(id, 'PUT', '/members', { sequence, members: members(letter) })
    expect((await report(1, 'n')).body).toEqual({ is_taken: true, sequence: 1 })
    expect(refused(await report(2, 'ü')).slice(0, 2)).toEqual([413, 'body_too_large'])
    expect((await runtimes.operate(id, 'GET', '/members')).body).toMatchObject({ sequence: 1, members: { length: 1000 } })
  })
})

describe('an answer that is kept', () => {
  test('MI-05 MI-08 X5 of an attach is given again as it was, and recorded, while the operator may attach it, and not after people detached it', async () => {
    const project_id = await runtimes.project()
    const id = await runtimes.made({ delegated_actions: ['attach', 'detach'], eligible_project_ids: [project_id] })
    const attach = () =>
      runtimes.operate(
        id,
        'POST',
        '/attachments',
        { project_id, contribution_policy: 'none' },
        { headers: { 'idempotency-key': `kept-${id}` } },
      )
    const { body: made } = await attach()
    await runtimes.operate(id, 'DELETE', `/attachments/${made.id}`, because)
    expect([(await attach()).status, (await attach()).body]).toEqual([201, made])
    // MI-08: that it was shown this again is a row, and not a second attach.
    expect(await recordOf(await attach())).toMatchObject({
      ...{ action: 'answer.repeat', result: 'success', tenant_id: org.aurora, project_id },
      metadata: { operation: 'shared_runtime.attachment.create', shared_runtime_id: id },
    })
    const { body: again } = await runtimes.attach(id, project_id)
    await runtimes.detach(id, again.id)
    expect(refused(await attach())).toEqual(denied('membership_missing'))
  })
})

describe('what an operator holds up', () => {
  test('MI-05 X3 one that may not attach or detach takes no lock of its organization before it is refused', async () => {
    const project_id = await runtimes.project()
    const id = await runtimes.made({ delegated_actions: ['attach'], eligible_project_ids: [project_id] })
    const bare = await runtimes.made()
    const { body: attached } = await runtimes.attach(bare, project_id)
    let locks = 0
    const { url: base } = await live.replica((parts) => ({
      ...parts,
      database: alteredDatabase(parts.database, {
        of: /from organizations where id = .* for no key update/s,
        after: async () => {
          locks += 1
        },
      }),
    }))
    const body = { project_id, contribution_policy: 'none' }
    for (const answered of [
      await runtimes.operate(bare, 'POST', '/attachments', body, { base }),
      await runtimes.operate(bare, 'DELETE', `/attachments/${attached.id}`, because, { base }),
      await runtimes.operate(id, 'POST', '/attachments', { ...body, project_id: project.aurora }, { base }),
    ])
      expect([answered.status, locks]).toEqual([403, 0])
    expect((await runtimes.operate(id, 'POST', '/attachments', body, { base })).status).toBe(201)
    expect(locks).toBe(1)
  })
})

describe('cursors of operators', () => {
  test('MI-07 X5 none goes on that was obtained before its runtime was disabled, or a credential revoked', async () => {
    const id = await runtimes.made()
    for (const project_id of [project.aurora, await runtimes.project()]) await runtimes.attach(id, project_id, 'all')
    for (let made = 0; made < 2; made += 1) await runtimes.allocation()
    const lists = ['/attachments?limit=1', '/allocations?limit=1']
    const list = (more: string) => runtimes.operate(id, 'GET', more)
    const endings: Record<string, () => Promise<unknown>> = {
      disabled: async () => {
        await move(id, 'disable')
        await move(id, 'enable')
      },
      revoked: async () => {
        const { body } = await live.ask('alice', createOperatorCredential, {
          params: { org_id: org.aurora, shared_runtime_id: id },
          body: {},
        })
        await live.ask('adam', revokeOperatorCredential, {
          params: { org_id: org.aurora, shared_runtime_id: id, key_id: body.key_id },
          body: because,
        })
      },
    }
    for (const [way, end] of Object.entries(endings)) {
      const begun = await Promise.all(lists.map(async (more) => `${more}&cursor=${(await list(more)).body.next_cursor}`))
      for (const more of begun) expect([way, (await list(more)).status]).toEqual([way, 200])
      await end()
      for (const more of begun) expect([way, ...refused(await list(more)).slice(0, 2)]).toEqual([way, 400, 'cursor_invalid'])
    }
  })
})
