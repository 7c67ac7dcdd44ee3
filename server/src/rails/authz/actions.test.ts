import { describe, expect, test } from 'vitest'
import {
  type Action,
  actions,
  classKeys,
  delegatedKeys,
  entryOf,
  isConstrainable,
  isForGlobalRules,
  isGrantable,
  membershipKeys,
  operatorKeys,
  overridePermission,
  relationKeys,
} from './actions.ts'

// Written down by hand, like the tables of the catalogue's test: a list that the code made would agree with itself.

const names = Object.keys(actions) as Action[]
const having = (has: (action: Action) => boolean) => names.filter(has).sort()

test('DE-21 these are reads, and nothing else still works in what is frozen', () => {
  const reads = `
    allocation.read                  me.read                      auth.token.introspect    me.ssh_key.read      project.access_grant.read_own
    platform.audit.read              platform.authz.evaluate      platform.node.read       platform.ops.read    platform.ops.runbook.read
    project.access_grant.read        project.audit.read           project.member.read      project.policy.read  project.read
    project.role.read                project.service_account.read project.ssh_key.read
    storage.credential.read          storage.mount_plan.read      storage.read         shared_runtime.allocation.read
    tenant.audit.read                tenant.billing.read          tenant.invoice.read      tenant.policy.read   tenant.project.read
    tenant.project.read_own          tenant.read                  tenant.role.read         tenant.shared_runtime.read
    tenant.user.read                 workload.read`
  expect(having((action) => actions[action].is_read)).toEqual(reads.trim().split(/\s+/).sort())
})

test('DE-01 what runs on machines and what is stored says so of itself; nothing else says anything', () => {
  const onMachines = ['allocation.', 'terminal.', 'workload.']
  for (const action of names) {
    const isOnMachine = onMachines.some((group) => action.startsWith(group))
    const carried = isOnMachine ? ['region', 'sku', 'gpus', 'flags'] : action.startsWith('storage.') ? ['region', 'flags'] : []
    expect([action, actions[action].carries]).toEqual([action, carried])
  }
})

test('DE-06 the override has one name, which is no action', () => {
  expect(overridePermission).toBe('authorization.override.all')
})

describe('what comes without a role', () => {
  test('DE-08 each is judged where it belongs', () => {
    const tiers = (['me.read', 'tenant.project.read_own', 'tenant.user.leave', 'project.member.leave'] as const).map(
      (action) => actions[action].tier,
    )
    expect(tiers).toEqual(['platform', 'tenant', 'tenant', 'project'])
  })

  test('DE-08 the person himself may see himself, keep his keys and leave; belonging shows the own projects, and the project', () => {
    expect([...relationKeys.self].sort()).toEqual([
      'me.read',
      'me.ssh_key.manage',
      'me.ssh_key.read',
      'project.member.leave',
      'tenant.user.leave',
    ])
    expect([...relationKeys.allocation_owner].sort()).toEqual([
      'allocation.ssh_keys.write',
      'project.access_grant.manage',
      'project.access_grant.read',
    ])
    expect([...relationKeys.grantee].sort()).toEqual(['project.access_grant.read_own', 'project.access_grant.revoke_own'])
    expect(membershipKeys).toEqual({ 'tenant.project.read_own': 'tenant', 'project.read': 'project' })
  })

  test('DE-08 the entry of an action is its line in the registry, with where belonging gives it', () => {
    for (const action of names)
      expect([action, entryOf(action)]).toEqual([action, { ...actions[action], given_to_members_of: membershipKeys[action] }])
  })

  test('TI-25 a service account may ask about itself, turn its key into a token, end its own and ask about its tenant’s; a node does what is its own; an operator turns its credential into a token; no other class has anything by being what it is', () => {
    expect(Object.keys(classKeys)).toEqual(['service_account', 'node_agent', 'shared_runtime_operator'])
    expect([...classKeys.shared_runtime_operator!]).toEqual(['shared_runtime.token.issue'])
    expect([...classKeys.node_agent!].sort()).toEqual(['node.certificate.renew', 'node.task.read', 'node.task.report'])
    expect([...classKeys.service_account!].sort()).toEqual([
      'auth.token.introspect',
      'auth.token.issue',
      'auth.token.revoke_own',
      'me.read',
    ])
  })

  test('MI-04 MI-05 an operator reads its runtime, reports, takes what is left for it and sees allocations; attach and detach can be delegated, and nothing else', () => {
    expect([...operatorKeys].sort()).toEqual([
      'shared_runtime.allocation.read',
      'shared_runtime.credential.deliver',
      'shared_runtime.report',
      'tenant.shared_runtime.read',
    ])
    expect(delegatedKeys).toEqual({ attach: 'shared_runtime.attach', detach: 'shared_runtime.detach' })
  })

  test('DE-10 no rule takes away what is the person’s own, and everything else can be ruled', () => {
    const own = `me.invitation.accept me.read me.ssh_key.manage me.ssh_key.read project.member.leave tenant.project.read_own tenant.user.leave`
    expect(having((action) => !isConstrainable(action))).toEqual(own.split(' '))
  })

  test('DE-10 only the platform’s rules reach what is the platform’s own, and the reading and writing of rules', () => {
    const reached = `
      me.invitation.accept    me.read              me.ssh_key.manage        me.ssh_key.read
      node.certificate.renew  node.task.read       node.task.report
      platform.admin          platform.audit.read  platform.authz.evaluate  platform.node.manage       platform.node.probe
      platform.node.read      platform.ops.read    platform.ops.runbook.read
      tenant.policy.read      tenant.policy.write`
    expect(having(isForGlobalRules)).toEqual(reached.trim().split(/\s+/))
  })
})

test('RP-10 a custom role holds what is of its tier, without the keys that have no ceiling and those that nobody gives', () => {
  const never = [
    'tenant.role.assign_any',
    'tenant.role.define',
    'tenant.project.appoint_owner',
    'project.role.assign_any',
    'project.role.define',
    'tenant.user.leave',
    'tenant.project.read_own',
    'project.member.leave',
    'auth.token.introspect',
    'auth.token.issue',
    'auth.token.revoke_own',
    'project.access_grant.read_own',
    'project.access_grant.revoke_own',
    'shared_runtime.allocation.read',
    'shared_runtime.attach',
    'shared_runtime.credential.deliver',
    'shared_runtime.detach',
    'shared_runtime.report',
    'shared_runtime.token.issue',
  ]
  for (const tier of ['tenant', 'project'] as const)
    expect(having((action) => isGrantable(action, tier))).toEqual(
      having((action) => actions[action].tier === tier && !never.includes(action)),
    )
  expect(having((action) => isGrantable(action, 'platform'))).toEqual([])
  expect(['authorization.override.all', 'constructor', 'tenant.*'].filter((key) => isGrantable(key, 'tenant'))).toEqual([])
})
