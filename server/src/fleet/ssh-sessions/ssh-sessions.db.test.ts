import { randomUUID } from 'node:crypto'
import { releaseAllocation } from '@gatehouse/contract/allocations'
import { type NodeEvent, reportNodeEvents } from '@gatehouse/contract/node-events'
import { describe, expect, test } from 'vitest'
import { stageFixture } from '../../../../test/access-stage.ts'
import { type Alteration, alteredDatabase } from '../../../../test/altered-database.ts'
import type { BodyOf } from '../../../../test/ask.ts'
import { type EnrolledNode, nodeFixture } from '../../../../test/enrolled-node.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { newKeyLine } from '../../../../test/ssh-key-lines.ts'
import { forgetNodeEvents } from './forget-events.ts'

const { org, project, user } = seeded
const live = serverFixture()
const stage = stageFixture(live)
const other = nodeFixture(live, { region: 'elsewhere' })

const tell = (events: BodyOf<typeof reportNodeEvents>['events'], node: EnrolledNode = stage.node, node_id = node.id) =>
  node.ask(reportNodeEvents, { params: { node_id }, body: { events } })
const told = async (...events: BodyOf<typeof reportNodeEvents>['events']) => {
  const answered = await tell(events)
  expect([answered.status, answered.text]).toEqual([200, expect.stringContaining('accepted')])
  return answered.body
}
const happened = (kind: NodeEvent['kind'], allocation_id: string, more: object = {}) => ({
  event_id: randomUUID(),
  kind,
  at: new Date().toISOString(),
  allocation_id,
  generation: stage.model.held.get(allocation_id)?.generation ?? 0,
  ...more,
})
const began = (allocation_id: string, session_id: string, fingerprint: string, more: object = {}) =>
  happened('session_started', allocation_id, { session_id, fingerprint, source_ip: '192.0.2.7', ...more })
const ended = (allocation_id: string, session_id: string, fingerprint: string, more: object = {}) =>
  happened('session_ended', allocation_id, { session_id, fingerprint, end: 'closed', ...more })

const sessionsOf = async (allocation_id: string, query = '', person = 'asha') =>
  live.call(person, 'GET', `/api/v1/allocations/${allocation_id}/ssh-sessions${query}`)
const listed = async (allocation_id: string) => (await sessionsOf(allocation_id)).body.items
const starts = (allocation_id: string) => stage.recordOf('allocation.ssh_session.start', allocation_id)
const ends = (allocation_id: string) => stage.recordOf('allocation.ssh_session.end', allocation_id)
const drifts = (allocation_id: string) => stage.recordOf('allocation.access_drift', allocation_id)
/** Of refusals, the rows of the record since it was begun to look. */
const refusals = () => live.sql(`select * from audit_logs where action = 'node.event.report' and result = 'denied' order by chain_id, seq`)

/** An owner with a key, and a colleague who was let in with his own. */
const peopled = async () => {
  const [hers, his] = [await stage.key('asha'), await stage.key('axel')]
  const { id } = await stage.allocation('asha', [hers])
  const grant = await stage.granted('asha', id, 'axel', his)
  await stage.model.settle()
  return { id, hers, his, grant }
}

describe('who was there', () => {
  test('SG-21 beginning and end of a session name the person whose key opened it, in the tenant’s record and in the list', async () => {
    const { id, hers, his, grant } = await peopled()
    await told(began(id, 'a.1', hers.fingerprint), began(id, 'a.2', his.fingerprint))
    const closed = ended(id, 'a.2', his.fingerprint)
    await told(closed)
    const common = { allocation_id: id, node_id: stage.node.id, source_ip: '192.0.2.7', started_at: expect.any(String) }
    expect(await listed(id)).toEqual([
      {
        ...common,
        session_id: 'a.2',
        fingerprint: his.fingerprint,
        user_ids: [user('axel')],
        grant_ids: [grant.id],
        ended_at: closed.at,
        end: 'closed',
        processes_ended: null,
        may_have_left_processes: null,
      },
      {
        ...common,
        session_id: 'a.1',
        fingerprint: hers.fingerprint,
        user_ids: [user('asha')],
        grant_ids: [],
        ended_at: null,
        end: null,
        processes_ended: null,
        may_have_left_processes: null,
      },
    ])
    const where = { actor_type: 'node_agent', actor_id: stage.node.id, tenant_id: org.aurora, project_id: project.aurora, severity: 'info' }
    expect(await starts(id)).toMatchObject([
      { ...where, metadata: { session_id: 'a.1', user_ids: [user('asha')], fingerprint: hers.fingerprint, source_ip: '192.0.2.7' } },
      { ...where, metadata: { session_id: 'a.2', user_ids: [user('axel')], grant_ids: [grant.id], whose: user('axel') } },
    ])
    expect(await ends(id)).toMatchObject([{ ...where, metadata: { session_id: 'a.2', user_ids: [user('axel')], end: 'closed' } }])
  })

  test('SG-21 several who hold one key are all named, and the project’s automation is nobody in person', async () => {
    const line = newKeyLine()
    const [hers, his, robot] = [await stage.key('asha', line), await stage.key('axel', line), await stage.projectKey()]
    const { id } = await stage.allocation('asha', [hers, robot])
    const grant = await stage.granted('asha', id, 'axel', his)
    await stage.model.settle()
    await told(began(id, 'b.1', hers.fingerprint), began(id, 'b.2', robot.fingerprint))
    const [by_robot, by_people] = await listed(id)
    expect(by_robot).toMatchObject({ user_ids: [], grant_ids: [] })
    expect(by_people.user_ids.toSorted()).toEqual([user('asha'), user('axel')].toSorted())
    expect(by_people.grant_ids).toEqual([grant.id])
    expect((await starts(id)).map(({ severity, metadata }) => [severity, metadata.session_id])).toEqual([
      ['info', 'b.1'],
      ['info', 'b.2'],
    ])
    expect((await starts(id))[1]!.metadata.whose).toBe('the project’s automation')
  })

  test('SG-19 SG-21 an end that comes with the set that took the key away names whose it was before', async () => {
    const { id, his, grant } = await peopled()
    await stage.revoke('asha', id, grant.id)
    await stage.model.settle()
    expect(stage.onNode(id)).not.toContain(his.fingerprint)
    const more = { end: 'key_removed', processes_ended: 3, may_have_left_processes: true }
    // As an agent that had no time to tell of the beginning.
    await told(began(id, 'c.1', his.fingerprint), ended(id, 'c.1', his.fingerprint, more))
    expect(await listed(id)).toMatchObject([{ ...more, user_ids: [user('axel')], grant_ids: [grant.id] }])
    expect(await ends(id)).toMatchObject([{ severity: 'warning', metadata: { ...more, user_ids: [user('axel')] } }])
  })

  test('SG-21 whose it was is kept when another holds the same key later', async () => {
    const line = newKeyLine()
    const [hers, his] = [await stage.key('asha', line), await stage.key('axel', line)]
    const { id } = await stage.allocation('asha', [hers])
    await told(began(id, 'd.1', hers.fingerprint))
    await stage.granted('asha', id, 'axel', his)
    await stage.model.settle()
    await told(ended(id, 'd.1', hers.fingerprint), began(id, 'd.2', hers.fingerprint))
    const [second, first] = await listed(id)
    expect(first).toMatchObject({ session_id: 'd.1', user_ids: [user('asha')], end: 'closed' })
    expect(second.user_ids).toHaveLength(2)
    expect((await ends(id))[0]!.metadata.user_ids).toEqual([user('asha')])
  })

  test('SG-21 a key that was never sent there is nobody’s, and what it opened is recorded as high', async () => {
    const { id, his } = await peopled()
    const strange = await stage.key('axel')
    await told(began(id, 'e.1', strange.fingerprint))
    // In a set that was queued and has not reached the node.
    await stage.granted('asha', id, 'axel', strange)
    await told(began(id, 'e.2', strange.fingerprint))
    expect((await starts(id)).map(({ severity, metadata }) => [severity, metadata.whose])).toEqual([
      ['high', 'nobody'],
      ['high', 'nobody'],
    ])
    const before = (await refusals()).length
    const ahead = began(id, 'e.3', strange.fingerprint, { generation: stage.model.held.get(id)!.generation + 1 })
    expect(await tell([ahead])).toMatchObject({ status: 403, body: { details: { reason_code: 'permission_denied' } } })
    expect((await refusals()).slice(before)).toMatchObject([{ severity: 'high' }])
    expect(await starts(id)).toHaveLength(2)
    await stage.model.settle()
    expect(stage.onNode(id)).toContain(his.fingerprint)
  })
})

describe('a key that was taken away', () => {
  test('SG-19 SG-21 what it opens after the node confirmed that it is gone is recorded as high; what it opened before is not', async () => {
    const { id, his, grant } = await peopled()
    const [old, before] = [stage.model.held.get(id)!.generation, new Date().toISOString()]
    await stage.revoke('asha', id, grant.id)
    await stage.model.settle()
    await told(
      began(id, 'o.1', his.fingerprint),
      began(id, 'o.2', his.fingerprint, { generation: old }),
      began(id, 'o.3', his.fingerprint, { at: before }),
    )
    expect(
      (await starts(id)).map(({ severity, metadata }) => [metadata.session_id, severity, metadata.is_in_force, metadata.whose]),
    ).toEqual([
      ['o.1', 'high', false, user('axel')],
      ['o.2', 'high', false, user('axel')],
      ['o.3', 'info', true, user('axel')],
    ])
  })

  test('SG-21 what begins while the set without it is on its way is as it should be', async () => {
    const { id, his, grant } = await peopled()
    await stage.revoke('asha', id, grant.id)
    await stage.model.wait()
    await told(began(id, 'p.1', his.fingerprint))
    expect(await starts(id)).toMatchObject([{ severity: 'info', metadata: { is_in_force: true } }])
    stage.model.restart()
    await stage.model.settle()
  })
})

describe('what is repeated, late or wrong', () => {
  test('SG-21 each event counts once, whatever is repeated and however many tell it at the same time', async () => {
    const { id, his } = await peopled()
    const batch = [
      began(id, 'f.1', his.fingerprint),
      ended(id, 'f.1', his.fingerprint),
      happened('drift_restored', id, { found: 'changed' }),
    ]
    const answers = await Promise.all([1, 2, 3, 4].map(() => tell([...batch, batch[0]!])))
    for (const { status, body } of [...answers, await tell(batch.toReversed())]) {
      expect(status).toBe(200)
      expect(body.accepted.toSorted()).toEqual(batch.map(({ event_id }) => event_id).toSorted())
    }
    expect([await starts(id), await ends(id), await drifts(id)].map((rows) => rows.length)).toEqual([1, 1, 1])
    expect(await listed(id)).toHaveLength(1)
  })

  test('SG-21 an agent that was killed tells of the same under another id: it counts once; what an end adds is kept', async () => {
    const { id, his } = await peopled()
    const start = began(id, 'g.1', his.fingerprint)
    await told(start)
    await told({ ...start, event_id: randomUUID() })
    const end = ended(id, 'g.1', his.fingerprint)
    await told(end)
    await told({ ...end, event_id: randomUUID() })
    expect([await starts(id), await ends(id)].map((rows) => rows.length)).toEqual([1, 1])
    // Its connection was closed; what it had left running ends with the key.
    await told(ended(id, 'g.1', his.fingerprint, { end: 'key_removed', processes_ended: 2, may_have_left_processes: false }))
    expect(await listed(id)).toMatchObject([{ ended_at: end.at, end: 'closed', processes_ended: 2, may_have_left_processes: false }])
    expect((await ends(id)).map(({ metadata }) => metadata.end)).toEqual(['closed', 'key_removed'])
  })

  test('SG-21 an end that comes before its beginning is kept, and the beginning joins it', async () => {
    const { id, his } = await peopled()
    await told(ended(id, 'h.1', his.fingerprint, { end: 'lost' }))
    expect(await listed(id)).toMatchObject([{ session_id: 'h.1', started_at: null, end: 'lost', user_ids: [user('axel')] }])
    const start = began(id, 'h.1', his.fingerprint, { at: '2026-01-01T00:00:00.000Z' })
    await told(start)
    expect(await listed(id)).toMatchObject([{ started_at: start.at, end: 'lost', source_ip: '192.0.2.7' }])
    expect([await starts(id), await ends(id)].map((rows) => rows.length)).toEqual([1, 1])
  })

  test('SG-21 nothing ends before it began, whichever of both is told first', async () => {
    const { id, his } = await peopled()
    const [early, late] = [{ at: '2026-01-01T00:00:00.000Z' }, { at: '2026-01-02T00:00:00.000Z' }]
    await told(began(id, 'q.1', his.fingerprint, late), ended(id, 'q.1', his.fingerprint, early))
    await told(ended(id, 'q.2', his.fingerprint, early))
    await told(began(id, 'q.2', his.fingerprint, late))
    const both = { started_at: late.at, ended_at: late.at }
    expect(await listed(id)).toMatchObject([both, both])
  })

  test('SG-20 S15 keys that somebody changed by hand are told of in the tenant’s record, as high', async () => {
    const { id } = await peopled()
    const drift = happened('drift_restored', id, { found: 'changed' })
    await told(drift)
    expect(await drifts(id)).toMatchObject([
      {
        tenant_id: org.aurora,
        project_id: project.aurora,
        severity: 'high',
        metadata: { node_id: stage.node.id, found: 'changed', found_at: drift.at },
      },
    ])
  })

  test('SG-20 what the node could not put right is told of as that, as high, and only with why not', async () => {
    const { id } = await peopled()
    const drift = happened('drift_found', id, { failure: 'sshd_reads_more_keys' })
    await told(drift)
    expect(await drifts(id)).toEqual([])
    expect(await stage.recordOf('allocation.access_drift.not_restored', id)).toMatchObject([
      { tenant_id: org.aurora, severity: 'high', metadata: { failure: 'sshd_reads_more_keys', found_at: drift.at } },
    ])
    expect((await tell([happened('drift_found', id)])).status).toBe(400)
  })

  test('SG-22 a node tells of its own allocations alone: another’s and one that is not there answer alike, and nothing is kept', async () => {
    const { id, his } = await peopled()
    const before = (await refusals()).length
    const answers = [
      await tell([began(id, 'i.1', his.fingerprint)], other),
      await tell([began(randomUUID(), 'i.1', his.fingerprint)], other),
      // One that is not its own spoils the rest.
      await tell([began(id, 'i.1', his.fingerprint), began(randomUUID(), 'i.2', his.fingerprint)]),
      await tell([began(id, 'i.1', his.fingerprint)], other, stage.node.id),
    ]
    for (const { status, body } of answers)
      expect([status, { ...body, correlation_id: '' }]).toEqual([
        403,
        { ...answers[0]!.body, correlation_id: '', details: { reason_code: 'scope_mismatch', action: 'node.task.report' } },
      ])
    expect((await refusals()).slice(before)).toMatchObject(
      answers.map(() => ({ severity: 'high', reason_code: 'scope_mismatch', actor_type: 'node_agent' })),
    )
    expect([await listed(id), await starts(id)]).toEqual([[], []])
    // A released one was its own: what is told late is heard.
    await live.ask('asha', releaseAllocation, { params: { allocation_id: id }, body: {} })
    await stage.model.settle()
    await told(ended(id, 'i.3', his.fingerprint, { end: 'account_removed' }))
    expect(await listed(id)).toMatchObject([{ session_id: 'i.3', end: 'account_removed', user_ids: [user('axel')] }])
  })

  test('SG-21 a session cannot become another’s', async () => {
    const [one, two] = [await peopled(), await peopled()]
    await told(began(one.id, 'j.1', one.his.fingerprint))
    for (const event of [ended(two.id, 'j.1', two.his.fingerprint), ended(one.id, 'j.1', one.hers.fingerprint)])
      expect(await tell([event])).toMatchObject({ status: 403, body: { details: { reason_code: 'permission_denied' } } })
    expect(await listed(one.id)).toMatchObject([{ fingerprint: one.his.fingerprint, ended_at: null }])
    expect(await listed(two.id)).toEqual([])
  })

  test('SG-21 an event that lacks what belongs to its kind is refused by name', async () => {
    const { id, his } = await peopled()
    const without = happened('session_started', id, { fingerprint: his.fingerprint, source_ip: '192.0.2.7' })
    const endless = happened('session_ended', id, { session_id: 'k.1', fingerprint: his.fingerprint })
    const answered = await tell([without, endless, happened('drift_restored', id)])
    expect([answered.status, answered.body.code]).toEqual([400, 'validation_error'])
    expect(answered.body.details?.fields?.map(({ field }) => field)).toEqual(['events/0/session_id', 'events/1/end', 'events/2/found'])
    for (const wrong of [{ generation: 2 ** 60 }, { at: '2026-02-31T00:00:00.000Z' }, { session_id: '../../x' }, { source_ip: 'x; rm' }])
      expect((await tell([began(id, 'k.1', his.fingerprint, wrong)])).status).toBe(400)
    expect(await listed(id)).toEqual([])
  })

  test('SG-21 ids of events are forgotten when no agent repeats them any more', async () => {
    const { id } = await peopled()
    const [old, young] = [happened('drift_restored', id, { found: 'missing' }), happened('drift_restored', id, { found: 'missing' })]
    await told(old, young)
    await live.sql(`update node_events set told_at = now() - interval '91 days' where event_id = $1`, [old.event_id])
    expect(await forgetNodeEvents(live.database, 1)).toBe(1)
    const left = await live.sql('select event_id from node_events where event_id = any($1)', [[old.event_id, young.event_id]])
    expect(left).toEqual([{ event_id: young.event_id }])
  })
})

describe('a receipt', () => {
  test('SG-19 SG-20 of another set than was sent is not believed: the grant stays pending, and the node is asked again', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation()
    const grant = await stage.granted('asha', id, 'axel', his)
    const [task] = (await stage.model.wait()).body.tasks
    const receipt = { applied_generation: task.generation, set_hash: 'f'.repeat(64), fingerprints: [his.fingerprint] }
    const lie = await stage.model.report(task, { outcome: 'completed', generation: task.generation, receipt })
    expect(lie).toMatchObject({ status: 403, body: { details: { reason_code: 'permission_denied' } } })
    expect(await stage.seen(id, grant.id)).toMatchObject({ runtime_sync: { status: 'pending', generation: task.generation } })
    expect(await stage.recordOf('node.task.report', task.task_id)).toMatchObject([{ result: 'denied', severity: 'high' }])
    stage.model.restart()
    await stage.model.settle()
    expect(await stage.seen(id, grant.id)).toMatchObject({ runtime_sync: { status: 'applied', generation: task.generation } })
    const [, believed] = await stage.recordOf('node.task.report', task.task_id)
    expect(believed).toMatchObject({
      result: 'success',
      metadata: { receipt: { set_hash: task.params.set_hash, fingerprints: [his.fingerprint], grant_ids: [grant.id] } },
    })
    expect(believed!.metadata.receipt_signature).toMatch(/^[\w-]{20,}$/)
  })
})

describe('red controls', () => {
  const altered = (...alterations: readonly Alteration[]) =>
    live.replica((parts) => ({ ...parts, database: alteredDatabase(parts.database, ...alterations) }))
  const tellAt = (url: string, ...events: BodyOf<typeof reportNodeEvents>['events']) =>
    stage.node.ask(reportNodeEvents, { params: { node_id: stage.node.id }, body: { events }, base: url })

  test('SG-20 S15 they find a build that counts a repeated drift again', async () => {
    const { id } = await peopled()
    const drift = happened('drift_restored', id, { found: 'missing' })
    const forgetful = await altered({ of: 'insert into node_events', rows: () => [{ event_id: drift.event_id }] })
    for (const _ of [1, 2]) expect((await tellAt(forgetful.nodes.url, drift)).status).toBe(200)
    expect(await drifts(id)).toHaveLength(2)
  })

  test('SG-21 they find a build that names whoever holds the key in any set', async () => {
    const { id } = await peopled()
    const strange = await stage.key('axel')
    await stage.granted('asha', id, 'axel', strange)
    const credulous = await altered({ of: 'jsonb_array_elements', text: (text) => text.replaceAll('and t.dispatched_at is not null', '') })
    const start = began(id, 'm.1', strange.fingerprint, { generation: stage.model.held.get(id)!.generation + 1 })
    expect((await tellAt(credulous.nodes.url, start)).status).toBe(200)
    expect(await starts(id)).toMatchObject([{ severity: 'info', metadata: { whose: user('axel') } }])
    await stage.model.settle()
  })

  test('SG-22 they find a build that hears a node about others’ allocations', async () => {
    const { id, his } = await peopled()
    const trusting = await altered({
      of: /from allocations where id = \$1$/,
      rows: (rows) => rows.map((row) => ({ ...(row as object), node_id: other.id })),
    })
    const event = began(id, 'n.1', his.fingerprint, { generation: 0 })
    const heard = await other.ask(reportNodeEvents, { params: { node_id: other.id }, body: { events: [event] }, base: trusting.nodes.url })
    expect(heard.status).toBe(200)
    expect(await listed(id)).toHaveLength(1)
  })
})

describe('who may see it', () => {
  test('SG-21 the owner and those who may see grants, page by page; nobody else, and strangers learn nothing', async () => {
    const { id, his } = await peopled()
    await told(...[1, 2, 3].map((n) => began(id, `l.${n}`, his.fingerprint)))
    const first = await sessionsOf(id, '?limit=2')
    expect(first.body.items.map(({ session_id }: { session_id: string }) => session_id)).toEqual(['l.3', 'l.2'])
    const second = await sessionsOf(id, `?limit=2&cursor=${first.body.next_cursor}`)
    expect([second.body.items.map(({ session_id }: { session_id: string }) => session_id), second.body.next_cursor]).toEqual([
      ['l.1'],
      null,
    ])
    expect((await sessionsOf(id, '', 'amara')).body.items).toHaveLength(3)
    expect((await sessionsOf(id, '', 'alice')).body.items).toHaveLength(3)
    expect((await sessionsOf(id, '', 'axel')).status).toBe(403)
    const [stranger, absent] = [await sessionsOf(id, '', 'bodo'), await sessionsOf(randomUUID(), '', 'bodo')]
    expect([stranger.status, stranger.body.code]).toEqual([404, 'allocation_not_found'])
    expect({ ...stranger.body, correlation_id: '' }).toEqual({ ...absent.body, correlation_id: '' })
  })
})
