import { randomUUID } from 'node:crypto'
import { tendAccess } from '../../server/src/fleet/access-grants/tend-access.ts'
import { tendAllocations } from '../../server/src/fleet/allocations/tend-allocations.ts'
import { type AccessStage, accessStage, type StagedKey } from '../access-stage.ts'
import { tendingOf } from '../allocation-tending.ts'
import { nextKey } from '../faults/recipes/next-key.ts'
import { asOperator } from '../faults/recipes/operator-credentials.ts'
import { bearing, type Stage } from '../faults/recipes/recipe.ts'
import { onARuntime } from '../faults/recipes/shared-runtimes.ts'
import { invitationsOn } from '../invitation-scene.ts'
import { type LiveServer, seeded } from '../live-server.ts'
import type { Mishaps } from '../model-node.ts'

const { org, project, user } = seeded
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const reason = 'a state'

/** Ways into states that no single operation ends in: each begins with the API, and only clocks and the epoch are moved by hand. */
export const scenesOn = (live: LiveServer, stage: Stage) => {
  const { done } = stage
  const byAmara = { person: 'amara', params: { project_id: project.aurora } }
  const tending = tendingOf(live)
  const tendAll = async () => {
    await tendAllocations(tending)
    await tendAccess(tending)
    await live.tasking.tendTasks()
  }

  const role = async (more: object = {}) =>
    (await done('role.create_of_project', { ...byAmara, body: { name: stage.word(), permissions: ['storage.read'], reason, ...more } })).id
  const bind = async (role_id: string, principal_id: string, more: object = {}) =>
    (await done('role_binding.create_of_project', { ...byAmara, body: { principal_type: 'user', principal_id, role_id, reason, ...more } }))
      .id
  const of = (role_id: string) => ({ ...byAmara, params: { ...byAmara.params, role_id } })

  /** The case that was found: a binding ended, then its role. And those that outlive their role, or its fitness. */
  const bindingsOfChangedRoles = async () => {
    const past = await role()
    const binding_id = await bind(past, user('axel'))
    await done('role_binding.end_of_project', { ...byAmara, params: { ...byAmara.params, binding_id }, body: { reason } })
    await done('role.delete_of_project', { ...of(past), body: { reason } })
    const gone = await role()
    await bind(gone, user('axel'))
    await done('role.delete_of_project', { ...of(gone), body: { reason } })
    const narrowed = await role({ is_assignable_to_service_accounts: true })
    const slug = stage.word()
    const account = await done('service_account.create', { ...byAmara, body: { name: slug, slug, reason } })
    await bind(narrowed, account.id, { principal_type: 'service_account' })
    await done('role.update_of_project', {
      ...of(narrowed),
      body: { is_assignable_to_service_accounts: false, expected_version: 1, reason },
    })
    await bind(await role(), user('axel'), { expires_at: inSeconds(3600) })
    const body = { principal_type: 'user', principal_id: user('anna'), role_name: 'tenant_viewer', expires_at: inSeconds(3600), reason }
    await done('role_binding.create_of_organization', { person: 'alice', params: { org_id: org.aurora }, body })
  }

  /** What an operator of the platform disabled stays so for the project's own people. */
  const accountsOfThePlatform = async () => {
    const slug = stage.word()
    const { id } = await done('service_account.create', { ...byAmara, body: { name: slug, slug, reason } })
    const params = { ...byAmara.params, service_account_id: id }
    await done('service_account.disable', { person: 'ada', params, body: { reason } })
  }

  const rolesInGrace = async () => {
    const key = 'authorization.role_disable_grace_window_seconds'
    await live.sql(
      `insert into policy_values (id, key, scope_type, value, version, created_at)
       select gen_random_uuid(), $1, 'global', '3600', 1 + coalesce(max(version), 0), now() from policy_values where key = $1`,
      [key],
    )
    await done('role.disable_of_project', { ...of(await role()), body: { mode: 'block_new_only', reason } })
  }

  const runtimesAsReported = async () => {
    for (const state of ['provisioning', 'degraded', 'failed'])
      await done('shared_runtime.status.report', { ...(await asOperator(stage)), body: { sequence: 1, state, message: stage.word() } })
    const members = ['joining', 'draining', 'down'].map((state) => ({ name: stage.word(), role: 'worker', state, allocation_id: null }))
    await done('shared_runtime.members.report', { ...(await asOperator(stage)), body: { sequence: 1, members } })
  }

  const on = async (mishaps: Mishaps, act: (access: AccessStage) => Promise<void>) => {
    const access = await accessStage(live, mishaps, { region: stage.word(), sku: stage.word() })
    await act(access).finally(access.stop)
  }
  /** Somebody who was let into an allocation, with a key of theirs. */
  const letIn = async (access: AccessStage, more: object = {}) => {
    const key = await access.key('asha')
    const allocation = await access.allocation('asha', [key])
    const person = stage.person()
    const own = await access.key(person.subject)
    const grant = await access.granted('asha', allocation.id, person.id, own, more)
    await access.model.settle()
    return { allocation, person, own, key, grant }
  }
  const leaving = { reason }

  /** A grant ends with whatever it rests on. */
  const endedGrants = () =>
    on({}, async (access) => {
      const one = await letIn(access)
      await done('project.member.remove', { ...byAmara, params: { ...byAmara.params, user_id: one.person.id }, body: leaving })
      const two = await letIn(access)
      await done('organization.member.remove', { person: 'alice', params: { org_id: org.aurora, user_id: two.person.id }, body: leaving })
      const three = await letIn(access)
      await done('ssh_key.delete', { person: three.person.subject, params: { ssh_key_id: three.own.id }, body: leaving })
      const four = await letIn(access)
      await done('user.disable', { person: 'ada', params: { user_id: four.person.id }, body: leaving })
      const five = await letIn(access)
      await done('allocation.release', { person: 'asha', params: { allocation_id: five.allocation.id }, body: leaving })
      const six = await letIn(access, { expires_at: inSeconds(3600) })
      await live.sql(`update allocation_access_grants set expires_at = now() - interval '1 second' where id = $1`, [six.grant.id])
      await tendAll()
      await letIn(access, { expires_at: inSeconds(3600) })
      // Not settled: it is releasing from now on.
      const last = await letIn(access)
      await done('allocation.release', { person: 'asha', params: { allocation_id: last.allocation.id }, body: leaving })
    })

  const endedWithNode = () =>
    on({}, async (access) => {
      await letIn(access)
      await done('node.retire', { person: 'ada', params: { node_id: access.node.id }, body: leaving })
    })

  /** What the node cannot do, or never reports. */
  const failures = async () => {
    await on({ fail: ({ type }) => (type === 'allocation.provision_user' ? 'no_space' : undefined) }, async (access) => {
      const key = await access.key('asha')
      const person = stage.person()
      const own = await access.key(person.subject)
      const { id } = await access.allocation('asha', [key], false)
      await access.granted('asha', id, person.id, own)
      await access.model.settle()
    })
    await on({ fail: ({ type }) => (type === 'allocation.deprovision_user' ? 'busy' : undefined) }, async (access) => {
      const { allocation } = await letIn(access)
      await done('allocation.release', { person: 'asha', params: { allocation_id: allocation.id }, body: leaving })
      await access.model.settle()
    })
    await on({ loseReport: () => true }, async (access) => {
      await access.allocation('asha', [await access.key('asha')])
      await live.sql(
        `update node_tasks set created_at = created_at - interval '10 minutes', dispatched_at = dispatched_at - interval '10 minutes' where node_id = $1`,
        [access.node.id],
      )
      await tendAll()
    })
    await on({}, async (access) => {
      await access.allocation('asha', [await access.key('asha')], false)
      await live.sql(
        `update node_tasks set created_at = now() - interval '3 hours', expires_at = now() - interval '1 hour' where node_id = $1`,
        [access.node.id],
      )
      await tendAll()
    })
    await on({}, async (access) => {
      const { allocation, person, own } = await letIn(access)
      // Two more sets before the node has asked: the older one is superseded.
      for (const grant of await live.sql<{ id: string }>('select id from allocation_access_grants where allocation_id = $1', [
        allocation.id,
      ]))
        await access.revoke('asha', allocation.id, grant.id)
      await access.granted('asha', allocation.id, person.id, own)
      await access.model.settle()
    })
  }

  const oldSigners = async () => {
    await live.sql(`update task_signers set grace_until = now() - interval '1 second' where state = 'grace'`)
    await live.tasking.tendSigners()
    await nextKey(stage, 'node.signer')
    await done('node.signer.rotate', { person: 'ada', params: {}, body: { reason } })
  }

  const operatorsForAWhile = async () => {
    const { person, params } = await onARuntime(stage)
    await done('shared_runtime.operator_credential.create', { person, params, body: { expires_at: inSeconds(3600), reason } })
  }

  const refusals = async () => {
    await live.call('bella', 'GET', `/api/v1/orgs/${org.aurora}`)
    // What an operator asks for in vain is recorded, too: here a page that nobody has begun.
    const { params, person } = await asOperator(stage)
    const headers = { authorization: `Bearer ${person.slice(bearing.length)}` }
    const path = `/api/v1/orgs/${params.org_id}/shared-app-runtimes/${params.shared_runtime_id}/allocations?cursor=unknown`
    await live.call(null, 'GET', path, { headers })
  }

  const sessions = () =>
    on({}, async (access) => {
      const { allocation, own } = await letIn(access)
      const event = (kind: string, session_id: string, more: object) => ({
        event_id: randomUUID(),
        kind,
        at: new Date().toISOString(),
        allocation_id: allocation.id,
        generation: access.model.held.get(allocation.id)!.generation,
        session_id,
        fingerprint: (own as StagedKey).fingerprint,
        ...more,
      })
      const ends = ['closed', 'key_removed', 'key_expired', 'account_removed', 'lost']
      const events = [
        event('session_started', 'open', { source_ip: '192.0.2.7' }),
        ...ends.map((end) => event('session_ended', end, { end })),
        ...[true, false].map((left) =>
          event('session_ended', `left-${left}`, { end: 'key_removed', processes_ended: 1, may_have_left_processes: left }),
        ),
        event('session_started', 'closed', { source_ip: '192.0.2.7' }),
      ]
      const told = await access.node.call('POST', `/internal/v1/nodes/${access.node.id}/events`, { events })
      const waited = await access.node.call(
        'GET',
        `/internal/v1/nodes/${access.node.id}/tasks/wait?run=${randomUUID()}&wait_seconds=0&agent_version=1.0.0`,
      )
      if (waited.status !== 200) throw new Error(`tasks: ${waited.status} ${waited.text}`)
      if (told.status !== 200) throw new Error(`events: ${told.status} ${told.text}`)
    })

  /** What was given before a restore was accepted has ended with it; what is given afterwards counts. */
  const earlierEpoch = async () => {
    await on({}, async (access) => {
      await letIn(access)
      await live.sql('update installation set epoch = epoch + 1')
      await live.tasking.tendSigners()
      await tendAll()
    })
    await on({}, async (access) => void (await letIn(access)))
  }

  // In their order: tokens and tasks of before do not count in another epoch.
  /** Somebody whose provider vouches for an address. */
  const addressed = async () => {
    await invitationsOn(live).newcomer()
  }

  /** A node that names its GPUs: one is held, one was given back; and a policy that has yet to reach the node. */
  const namedDevices = () =>
    on({}, async (access) => {
      access.model.speak(2)
      const devices = [0, 1].map((index) => ({ index, paths: [`/dev/nvidia${index}`] }))
      await access.model.describe({ devices, shared_devices: [], ssh_host: 'gpu.example', ssh_port: 22, ssh_host_keys: [] })
      await access.allocation('asha')
      const back = await access.allocation('asha')
      await done('allocation.release', { person: 'asha', params: { allocation_id: back.id }, body: leaving })
      await access.model.settle()
      const params = { ...byAmara.params, key: 'access.session_tasks_max' }
      await done('policy.value.set_of_project', { person: 'alice', params, body: { value: 4000, reason } })
    })

  return {
    accountsOfThePlatform,
    addressed,
    bindingsOfChangedRoles,
    rolesInGrace,
    runtimesAsReported,
    endedGrants,
    endedWithNode,
    operatorsForAWhile,
    refusals,
    earlierEpoch,
    failures,
    oldSigners,
    sessions,
    namedDevices,
  }
}
