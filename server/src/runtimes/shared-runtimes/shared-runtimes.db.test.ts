import { createAllocation } from '@gatehouse/contract/allocations'
import { archiveProject } from '@gatehouse/contract/projects'
import { listAttachments, listEligibleProjects, readAttachment, updateAttachment } from '@gatehouse/contract/runtime-attachments'
import {
  deleteSharedRuntime,
  disableSharedRuntime,
  enableSharedRuntime,
  listRuntimeMembers,
  listSharedRuntimes,
  readSharedRuntime,
  updateSharedRuntime,
} from '@gatehouse/contract/shared-runtimes'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { alteredDatabase } from '../../../../test/altered-database.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { runtimesOn, strange } from '../../../../test/runtime-scene.ts'

const { org, project, user } = seeded
const because = { reason: 'because' }

const live = serverFixture({ policies: noRateLimits })
const runtimes = runtimesOn(live)

const refused = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code]
const bytesOf = ({ status, text, body }: Answered) => [status, text.replace(body.correlation_id, '')]
const notThere = (code: string) => [404, code, undefined]

describe('MI-01 a shared runtime of a tenant', () => {
  test('MI-01 is made, read, changed, put to rest, woken and ended by those who manage it, and each is recorded', async () => {
    const made = await runtimes.create({ display_name: 'training cluster', placement_intent: { region: 'eu-1', spread: true } })
    expect(made.status).toBe(201)
    const { id } = made.body
    expect(made.body).toMatchObject({
      org_id: org.aurora,
      operating_mode: 'tenant_dedicated',
      control_plane_scope: 'tenant',
      state: 'requested',
      placement_intent: { region: 'eu-1', spread: true },
      delegated_actions: [],
      eligible_project_ids: [],
      version: 1,
      created_by: user('adam'),
    })
    expect((await live.ask('anna', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } })).body).toEqual(made.body)
    const { body: all } = await live.ask('anna', listSharedRuntimes, { params: { org_id: org.aurora }, query: { limit: 200 } })
    expect(all.items).toContainEqual(made.body)

    const patch = (body: { expected_version: number; [member: string]: unknown }) =>
      live.ask('adam', updateSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: { ...because, ...body } })
    const changed = await patch({
      expected_version: 1,
      app_version: '24.11',
      delegated_actions: ['attach'],
      eligible_project_ids: [project.aurora],
    })
    expect(changed.body).toMatchObject({
      version: 2,
      app_version: '24.11',
      display_name: 'training cluster',
      delegated_actions: ['attach'],
    })
    const late = await patch({ expected_version: 1, app_version: '25' })
    expect([late.status, late.body.code, late.body.details]).toEqual([409, 'version_conflict', { version: 2 }])

    const move = (verb: 'disable' | 'enable') => runtimes.move(id, verb)
    expect((await move('disable')).body).toMatchObject({ state: 'disabled' })
    expect(refused(await move('disable')).slice(0, 2)).toEqual([409, 'state_conflict'])
    expect((await move('enable')).body).toMatchObject({ state: 'requested', disabled_at: null })
    expect(refused(await move('enable')).slice(0, 2)).toEqual([409, 'state_conflict'])

    expect(
      (await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })).status,
    ).toBe(204)
    expect(refused(await live.ask('anna', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } }))).toEqual(
      notThere('shared_runtime_not_found'),
    )
    expect(
      refused(await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })),
    ).toEqual(notThere('shared_runtime_not_found'))
    const told = await live.sql(
      `select action, tenant_id, project_id, result from audit_logs where resource_id = $1 and result = 'success' order by seq`,
      [id],
    )
    expect(told).toEqual(
      ['create', 'update', 'disable', 'enable', 'delete'].map((verb) => ({
        action: `shared_runtime.${verb}`,
        tenant_id: org.aurora,
        project_id: null,
        result: 'success',
      })),
    )
  })

  test('MI-01 two of one name are one too many, until the first has ended', async () => {
    const { body: first } = await runtimes.create({ display_name: 'the only one' })
    expect(refused(await runtimes.create({ display_name: 'the only one' })).slice(0, 2)).toEqual([409, 'shared_runtime_already_exists'])
    expect((await runtimes.create({ display_name: 'the only one' }, 'bella', org.borealis)).status).toBe(201)
    await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: first.id }, body: because })
    expect((await runtimes.create({ display_name: 'the only one' })).status).toBe(201)
  })

  test('MI-01 who only belongs reads, and who manages nothing changes nothing', async () => {
    const id = await runtimes.made()
    const attached = (await runtimes.attach(id, project.aurora)).body
    for (const who of ['anna', 'asha']) {
      expect((await live.ask(who, listAttachments, { params: { org_id: org.aurora, shared_runtime_id: id } })).body.items).toEqual([
        attached,
      ])
      expect((await live.ask(who, listRuntimeMembers, { params: { org_id: org.aurora, shared_runtime_id: id } })).body).toEqual({
        sequence: 0,
        reported_at: null,
        members: [],
      })
      const denied = [403, 'insufficient_permissions', 'permission_denied']
      expect(refused(await runtimes.create({}, who))).toEqual(denied)
      expect(refused(await runtimes.attach(id, project.aurora, 'all', who))).toEqual(denied)
      expect(refused(await runtimes.detach(id, attached.id, who))).toEqual(denied)
      expect(refused(await live.ask(who, listEligibleProjects, { params: { org_id: org.aurora, shared_runtime_id: id } }))).toEqual(denied)
      for (const verb of ['disable', 'enable'] as const) expect(refused(await runtimes.move(id, verb, who))).toEqual(denied)
    }
    expect(refused(await live.ask('bella', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } }))).toEqual(
      notThere('organization_not_found'),
    )
  })
})

describe('MI-01 attachments', () => {
  test('MI-01 a project is attached once, with what it contributes; that changes, and it ends', async () => {
    const id = await runtimes.made()
    const attached = await runtimes.attach(id, project.aurora, 'tagged')
    expect([attached.status, attached.body]).toMatchObject([
      201,
      {
        shared_runtime_id: id,
        org_id: org.aurora,
        project_id: project.aurora,
        contribution_policy: 'tagged',
        state: 'active',
        created_by_type: 'user',
      },
    ])
    expect(refused(await runtimes.attach(id, project.aurora)).slice(0, 2)).toEqual([409, 'attachment_already_exists'])
    const changed = await live.ask('adam', updateAttachment, {
      params: { org_id: org.aurora, shared_runtime_id: id, attachment_id: attached.body.id },
      body: { contribution_policy: 'none', ...because },
    })
    expect(changed.body).toMatchObject({ id: attached.body.id, contribution_policy: 'none' })
    expect(
      (await live.ask('anna', readAttachment, { params: { org_id: org.aurora, shared_runtime_id: id, attachment_id: attached.body.id } }))
        .body,
    ).toEqual(changed.body)
    expect((await runtimes.detach(id, attached.body.id)).body).toMatchObject({ state: 'detached' })
    expect(refused(await runtimes.detach(id, attached.body.id)).slice(0, 2)).toEqual([409, 'state_conflict'])
    expect(
      (
        await live.ask('adam', updateAttachment, {
          params: { org_id: org.aurora, shared_runtime_id: id, attachment_id: attached.body.id },
          body: { contribution_policy: 'all', ...because },
        })
      ).status,
    ).toBe(409)
    const again = await runtimes.attach(id, project.aurora)
    expect(again.status).toBe(201)
    const listed = async (query: string) => (await live.call('anna', 'GET', runtimes.one(id, `/attachments${query}`))).body.items
    expect((await listed('')).map(({ id: found }: { id: string }) => found)).toEqual([again.body.id])
    expect((await listed('?state=detached')).map(({ id: found }: { id: string }) => found)).toEqual([attached.body.id])
    expect(
      await live.sql(
        `select action, project_id, metadata ->> 'shared_runtime_id' as runtime from audit_logs where resource_id = $1 and result = 'success' order by seq`,
        [attached.body.id],
      ),
    ).toEqual(
      ['create', 'update', 'delete'].map((verb) => ({
        action: `shared_runtime.attachment.${verb}`,
        project_id: project.aurora,
        runtime: id,
      })),
    )
  })

  test('MI-01 an archived project stays attached, is not attached anew, and can be let go', async () => {
    const [id, other] = [await runtimes.made(), await runtimes.project()]
    const { body: attached } = await runtimes.attach(id, other)
    expect((await live.ask('alice', archiveProject, { params: { project_id: other }, body: because })).status).toBeLessThan(300)
    expect((await live.ask('anna', listAttachments, { params: { org_id: org.aurora, shared_runtime_id: id } })).body.items).toHaveLength(1)
    expect(refused(await runtimes.attach(await runtimes.made(), other))).toEqual([
      403,
      'insufficient_permissions',
      'policy_constraint_denied',
    ])
    expect((await runtimes.detach(id, attached.id)).status).toBe(200)
  })

  test('MI-01 what could be attached: the organization’s own, not attached yet, and whether the operator may by itself', async () => {
    const other = await runtimes.project()
    const id = await runtimes.made({ delegated_actions: ['attach'], eligible_project_ids: [other] })
    const eligible = async () => {
      const { body } = await live.ask('adam', listEligibleProjects, {
        params: { org_id: org.aurora, shared_runtime_id: id },
        query: { limit: 200 },
      })
      return new Map(body.items.map((item: { project_id: string; is_delegated: boolean }) => [item.project_id, item.is_delegated]))
    }
    const before = await eligible()
    expect([before.get(other), before.get(project.aurora), before.has(project.borealis)]).toEqual([true, false, false])
    await runtimes.attach(id, other)
    expect((await eligible()).has(other)).toBe(false)
  })

  test('MI-01 two attach one project at once: one does', async () => {
    const id = await runtimes.made()
    const both = await Promise.all([runtimes.attach(id, project.aurora), runtimes.attach(id, project.aurora, 'none')])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
  })

  test('MI-01 a runtime that ends lets all its projects go, and forgets its members', async () => {
    const id = await runtimes.made()
    const { body: attached } = await runtimes.attach(id, project.aurora)
    await runtimes.operate(id, 'PUT', '/members', {
      sequence: 1,
      members: [{ name: 'a', role: 'worker', state: 'ready', allocation_id: null }],
    })
    await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    expect(await live.sql('select detached_by_type, detach_reason from shared_runtime_attachments where id = $1', [attached.id])).toEqual([
      { detached_by_type: 'user', detach_reason: 'because' },
    ])
    expect(await live.sql('select 1 from shared_runtime_members where shared_runtime_id = $1', [id])).toEqual([])
  })
})

describe('X2 ids of two tenants in one request', () => {
  test('MI-01 X2 X10 another tenant’s project answers like one that is not there, and nothing changes', async () => {
    const id = await runtimes.made({ delegated_actions: ['attach'] })
    const state = () =>
      live.sql(
        'select (select count(*) from shared_runtime_attachments) as a, (select count(*) from shared_app_runtimes) as r, (select sum(version) from shared_app_runtimes) as v',
      )
    const before = await state()
    const ways: ((project_id: string) => Promise<Answered>)[] = [
      (project_id) => runtimes.attach(id, project_id),
      (project_id) => runtimes.operate(id, 'POST', '/attachments', { project_id, contribution_policy: 'all' }),
      (project_id) => runtimes.create({ eligible_project_ids: [project.aurora, project_id] }),
      (project_id) =>
        live.ask('adam', updateSharedRuntime, {
          params: { org_id: org.aurora, shared_runtime_id: id },
          body: { expected_version: 1, eligible_project_ids: [project_id], ...because },
        }),
    ]
    for (const [index, way] of ways.entries()) {
      const foreign = await way(project.borealis)
      // To an operator it is one more project that it may not attach.
      expect(refused(foreign)).toEqual(
        index === 1 ? [403, 'insufficient_permissions', 'membership_missing'] : notThere('project_not_found'),
      )
      expect(bytesOf(foreign)).toEqual(bytesOf(await way(strange)))
    }
    expect(await state()).toEqual(before)
  })

  test('MI-01 X2 a runtime under another organization, and an attachment under another runtime, are not there', async () => {
    const [id, other] = [await runtimes.made(), await runtimes.made()]
    const { body: attached } = await runtimes.attach(other, project.aurora)
    const foreign = newId('shared runtime')
    await live.sql(
      `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, created_at, created_by, updated_at)
       values ($1, $2, 'slurm', '1', 'foreign', 'slurm', now(), $3, now())`,
      [foreign, org.borealis, user('bella')],
    )
    for (const more of ['', '/attachments', '/members', '/eligible-projects', `/attachments/${attached.id}`]) {
      const found = await live.call('adam', 'GET', runtimes.one(foreign, more))
      expect(refused(found)).toEqual(notThere('shared_runtime_not_found'))
      expect(bytesOf(found)).toEqual(bytesOf(await live.call('adam', 'GET', runtimes.one(strange, more))))
    }
    expect(refused(await runtimes.attach(foreign, project.aurora))).toEqual(notThere('shared_runtime_not_found'))
    const mixed = runtimes.one(id, `/attachments/${attached.id}`)
    const unknown = runtimes.one(id, `/attachments/${strange}`)
    for (const ask of [
      (path: string) => live.call('adam', 'GET', path),
      (path: string) => live.call('adam', 'PATCH', path, { body: { contribution_policy: 'none', ...because } }),
      (path: string) => live.call('adam', 'DELETE', path, { body: because }),
      (path: string) => runtimes.operate(id, 'GET', '', undefined, { path }),
    ]) {
      expect(refused(await ask(mixed))).toEqual(notThere('attachment_not_found'))
      expect(bytesOf(await ask(mixed))).toEqual(bytesOf(await ask(unknown)))
    }
    expect(
      (await live.ask('adam', readAttachment, { params: { org_id: org.aurora, shared_runtime_id: other, attachment_id: attached.id } }))
        .body,
    ).toEqual(attached)
  })

  test('X2 the sweep would notice a server that does not ask whose attachment it is', async () => {
    const careless = await live.replica((parts) => ({
      ...parts,
      database: alteredDatabase(parts.database, {
        of: 'from shared_runtime_attachments where id = ',
        text: (text) => text.replace(/ and shared_runtime_id = \$2/, ' and $2::uuid is not null'),
      }),
    }))
    const [id, other] = [await runtimes.made(), await runtimes.made()]
    const { body: attached } = await runtimes.attach(other, project.aurora)
    expect(
      (await live.ask('adam', readAttachment, { params: { org_id: org.aurora, shared_runtime_id: id, attachment_id: attached.id } }))
        .status,
    ).toBe(404)
    expect(
      (
        await live.ask('adam', readAttachment, {
          params: { org_id: org.aurora, shared_runtime_id: id, attachment_id: attached.id },
          base: careless.url,
        })
      ).status,
    ).toBe(200)
  })

  test('MI-03 X2 an operator is held to its organization and its runtime before anything is looked up', async () => {
    const [id, other] = [await runtimes.made(), await runtimes.made()]
    for (const path of [runtimes.one(other), runtimes.one(strange), runtimes.one(id, '', org.borealis), runtimes.one(id, '', strange)])
      expect(refused(await runtimes.operate(id, 'GET', '', undefined, { path }))).toEqual([
        403,
        'insufficient_permissions',
        'scope_mismatch',
      ])
  })
})

describe('allocations that are tagged for a runtime', () => {
  const ask = (shared_runtime_id: string, who = 'asha') =>
    live.ask(who, createAllocation, {
      body: { project_id: project.aurora, name: 'a run', region: 'nowhere', sku: 'h100', gpus: 1, shared_runtime_id },
    })

  test('MI-01 one asks for an allocation for a runtime to which the project is attached with a share', async () => {
    const id = await runtimes.made()
    const notAttached = [403, 'insufficient_permissions', 'membership_missing']
    const resting = async () => {
      const { status, body } = await ask(id)
      return [status, body.code, body.details]
    }
    const strangers = bytesOf(await ask(strange))
    expect(strangers[0]).toBe(404)
    const { body: foreign } = await runtimes.create({}, 'boris', org.borealis)
    expect(bytesOf(await ask(foreign.id))).toEqual(strangers)
    expect(refused(await ask(id))).toEqual(notAttached)
    const { body: attached } = await runtimes.attach(id, project.aurora, 'none')
    expect(await resting()).toEqual([409, 'state_conflict', { contribution_policy: 'none' }])
    for (const contribution_policy of ['tagged', 'all'] as const) {
      await live.ask('adam', updateAttachment, {
        params: { org_id: org.aurora, shared_runtime_id: id, attachment_id: attached.id },
        body: { contribution_policy, ...because },
      })
      const made = await ask(id)
      expect([made.status, made.body.shared_runtime_id]).toEqual([201, id])
    }
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    expect(await resting()).toEqual([409, 'state_conflict', { state: 'disabled' }])
    await live.ask('adam', enableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    await runtimes.detach(id, attached.id)
    expect(refused(await ask(id))).toEqual(notAttached)
  })
})
