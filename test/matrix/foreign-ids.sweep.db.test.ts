import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../contract/src/operations.ts'
import { type LiveServer, liveServer } from '../live-server.ts'
import { sweep } from '../sweep.ts'
import { faultsOf, type Trial, trialsOf, unnamedKinds } from './foreign-ids.ts'
import { forgetting } from './forgetting.ts'
import { without } from './loose-queries.ts'
import { tableHashes } from './table-hashes.ts'
import { type Speaking, speakers } from './walk.ts'
import { type MatrixWorld, matrixWorld } from './world.ts'

let live: LiveServer
let world: MatrixWorld
let speaking: Speaking
let trials: readonly Trial[]
beforeAll(async () => {
  live = await liveServer()
  world = await matrixWorld(live)
  speaking = await speakers(live, world, (parts) => parts)
  trials = operations.flatMap((operation) => trialsOf(world, operation))
})
afterAll(async () => {
  speaking.stop()
  world.machines.node.stop()
  world.machines.other.stop()
  await live.stop()
})

test('X1 of each kind of id it is said what another tenant has', () => {
  expect(unnamedKinds(world)).toEqual([])
})

test('AU-05 HO-04 X1 X2 an id of another tenant, alone or among own ones, and an unknown one give the same bytes, change nothing and are recorded', {
  timeout: 600_000,
}, async () => {
  // The record itself, and when a node was last heard of.
  const own = ['audit_logs', 'audit_heads', 'nodes']
  const before = await tableHashes(live, own)
  expect(await faultsOf(live, world, speaking, sweep('foreign ids', trials, 90))).toEqual([])
  expect(await tableHashes(live, own)).toEqual(before)
})

describe('the sweep over foreign ids can fail', () => {
  test.for<[operation: string, from: string, predicate: RegExp]>([
    ['service_account.read', 'from service_accounts', /project_id = (\$\d)/],
    ['shared_runtime.attachment.read', 'from shared_runtime_attachments where id', /shared_runtime_id = (\$\d)/],
    ['invitation.end_of_organization', 'from invitations', /i\.tenant_id = (\$\d)/],
    ['role.read_of_organization', 'from role_definitions', /d\.scope_id = (\$\d)/],
    ['allocation.access_grant.revoke', 'from allocation_access_grants where id', /allocation_id = (\$\d)/],
  ])('%s without what bounds its query is found', async ([id, from, predicate]) => {
    const broken = await speakers(live, world, (parts) => forgetting(without(from, predicate)(parts)))
    const own = trials.filter(({ operation }) => operation.id === id)
    const found = await faultsOf(live, world, broken, own)
    broken.stop()
    expect(found.filter((fault) => fault.includes('told apart'))).not.toEqual([])
  })
})
