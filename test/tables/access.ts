import { inserting, type Tables } from './spelled.ts'

const sshKey = (changed: Record<string, string> = {}) =>
  inserting('ssh_public_keys', {
    id: ':new',
    user_id: ':ada',
    name: `'Laptop'`,
    key_type: `'ssh-ed25519'`,
    bits: '256',
    blob: `repeat('A', 68)`,
    fingerprint: `'SHA256:' || repeat('A', 43)`,
    created_at: 'now()',
    created_by_type: `'user'`,
    created_by: ':ada',
    ...changed,
  })
const projectSshKey = (changed: Record<string, string> = {}) =>
  sshKey({ user_id: 'null', org_id: ':aurora', project_id: ':training', ...changed })
/** Another key than the one that is there. */
const otherPrint = { fingerprint: `'SHA256:' || repeat('B', 43)` }
/** On no node yet. */
const allocation = (changed: Record<string, string> = {}) =>
  inserting('allocations', {
    id: ':new',
    org_id: ':aurora',
    project_id: ':training',
    name: `'Run'`,
    requested_by_type: `'user'`,
    requested_by: ':ada',
    region: `'eu-1'`,
    sku: `'h100'`,
    gpus: '1',
    state_since: 'now()',
    epoch: '1',
    created_at: 'now()',
    ...changed,
  })
const allocationKey = (changed: Record<string, string> = {}) =>
  inserting('allocation_ssh_public_keys', {
    id: ':new',
    allocation_id: ':allocation',
    ssh_key_id: '(select id from ssh_public_keys where user_id = :ada)',
    epoch: '1',
    created_at: 'now()',
    created_by: ':ada',
    ...changed,
  })
const accessGrant = (changed: Record<string, string> = {}) =>
  inserting('allocation_access_grants', {
    id: ':new',
    allocation_id: ':allocation',
    project_id: ':training',
    grantee_user_id: ':ada',
    ssh_key_id: '(select id from ssh_public_keys where user_id = :ada)',
    epoch: '1',
    created_at: 'now()',
    created_by: ':ada',
    updated_at: 'now()',
    ...changed,
  })
/** A GPU of an allocation. */
const heldDevice = (changed: Record<string, string> = {}) =>
  inserting('allocation_devices', {
    allocation_id: ':allocation',
    node_id: ':machine',
    device_index: '0',
    held_since: 'now()',
    ...changed,
  })
/** Not the one that is there. */
const endedGrant = { ended_at: 'now()', end_cause: `'revoked'` }
const onNode = { state: `'active'`, node_id: ':machine', username_on_node: `'gh-abcdef'` }
const aNode = `insert into nodes (id, name, region, sku, gpus, created_at) values (:machine, 'machine', 'eu-1', 'h100', 8, now())`

export const access: Tables = {
  names: ['ssh_public_keys', 'allocations', 'allocation_ssh_public_keys', 'allocation_access_grants', 'allocation_devices'],
  world: `
  ${sshKey()};
  ${projectSshKey()};
  ${allocation({ id: ':allocation' })};
  ${allocationKey()};
  ${accessGrant()};`,
  refused: [
    ['SG-14', 'a key of a person once more', 'ssh_key_already_exists', sshKey()],
    ['SG-14', 'a key of a project once more', 'ssh_key_already_exists_in_project', projectSshKey()],
    ['SG-01', 'a key of nobody', 'ssh_public_keys_owner', sshKey({ user_id: 'null' })],
    ['SG-01', 'a key of a person and a project', 'ssh_public_keys_owner', projectSshKey({ user_id: ':ada' })],
    ['SG-01', 'a key of a project in no organization', 'ssh_public_keys_owner', projectSshKey({ org_id: 'null' })],
    [
      'SG-01',
      'a key of a project in another organization',
      'ssh_public_keys_of_project',
      projectSshKey({ ...otherPrint, org_id: ':borealis' }),
    ],
    ['SG-14', 'a key without a name', 'ssh_public_keys_name_check', sshKey({ ...otherPrint, name: `''` })],
    ['SG-14', 'a key of another type', 'ssh_public_keys_key_type_check', sshKey({ ...otherPrint, key_type: `'ssh-dss'` })],
    ['SG-14', 'a certificate', 'ssh_public_keys_key_type_check', sshKey({ ...otherPrint, key_type: `'ssh-ed25519-cert-v01@openssh.com'` })],
    ['SG-14', 'a key of 255 bits', 'ssh_public_keys_bits_check', sshKey({ ...otherPrint, bits: '255' })],
    ['SG-14', 'a key with a line behind it', 'ssh_public_keys_blob_check', sshKey({ ...otherPrint, blob: `repeat('A', 68) || E'\\nB'` })],
    ['SG-14', 'a key with an end of line', 'ssh_public_keys_blob_check', sshKey({ ...otherPrint, blob: `repeat('A', 68) || E'\\n'` })],
    ['SG-14', 'a key with a blank', 'ssh_public_keys_blob_check', sshKey({ ...otherPrint, blob: `repeat('A', 68) || ' me'` })],
    ['SG-14', 'a key that is too short', 'ssh_public_keys_blob_check', sshKey({ ...otherPrint, blob: `'AAAA'` })],
    ['SG-14', 'a fingerprint that is none', 'ssh_public_keys_fingerprint_check', sshKey({ fingerprint: `'MD5:00'` })],
    [
      'SG-05',
      'a key that a node registered',
      'ssh_public_keys_created_by_type_check',
      sshKey({ ...otherPrint, created_by_type: `'node_agent'` }),
    ],
    ['SG-11', 'a key half deleted', 'ssh_public_keys_end_whole', 'update ssh_public_keys set deleted_at = now()'],
    ['SG-23', 'an allocation without a name', 'allocations_name_check', allocation({ name: `''` })],
    [
      'SG-18',
      'an allocation that a node asked for',
      'allocations_requested_by_type_check',
      allocation({ requested_by_type: `'node_agent'` }),
    ],
    ['SG-23', 'an allocation nowhere', 'allocations_region_check', allocation({ region: `''` })],
    ['SG-23', 'an allocation of no model', 'allocations_sku_check', allocation({ sku: `''` })],
    ['SG-23', 'an allocation of less than nothing', 'allocations_gpus_check', allocation({ gpus: '-1' })],
    [
      'SG-09',
      'an account with the name of a system’s',
      'allocations_username_on_node_check',
      `${aNode}; ${allocation({ ...onNode, username_on_node: `'root'` })}`,
    ],
    ['SG-23', 'a state that there is not', 'allocations_state_check', allocation({ state: `'paused'` })],
    ['SG-23', 'an allocation that fails at length', 'allocations_failure_check', allocation({ failure: `repeat('x', 101)` })],
    ['SG-10', 'a generation before the first', 'allocations_confirmed', allocation({ generation: '-1' })],
    ['SG-10', 'an allocation of no epoch', 'allocations_epoch_check', allocation({ epoch: '0' })],
    ['SG-23', 'an allocation of a project in another organization', 'allocations_of_project', allocation({ org_id: ':borealis' })],
    [
      'SG-09',
      'an allocation on a node without an account',
      'allocations_placed',
      `${aNode}; ${allocation({ ...onNode, username_on_node: 'null' })}`,
    ],
    [
      'SG-20',
      'more confirmed than was sent',
      'allocations_confirmed',
      `${aNode}; ${allocation({ ...onNode, generation: '1', confirmed_generation: '2', confirmed_at: 'now()' })}`,
    ],
    [
      'SG-20',
      'confirmed at no time',
      'allocations_confirmed',
      `${aNode}; ${allocation({ ...onNode, generation: '1', confirmed_generation: '1' })}`,
    ],
    ['SG-23', 'an active allocation on no node', 'allocations_states', allocation({ state: `'active'` })],
    [
      'SG-23',
      'one that waits for a node and is on one',
      'allocations_states',
      `${aNode}; ${allocation({ ...onNode, state: `'requested'` })}`,
    ],
    ['SG-23', 'a released one of which something is left', 'allocations_states', allocation({ state: `'released'` })],
    [
      'SG-20',
      'one that is abandoned and still on its node',
      'allocations_abandoned',
      `${aNode}; ${allocation({ ...onNode, is_abandoned: 'true' })}`,
    ],
    [
      'SG-09',
      'two accounts of one name on a node',
      'allocations_username_on_node',
      `${aNode}; ${allocation(onNode)}; ${allocation(onNode)}`,
    ],
    [
      'SG-24',
      'one GPU of a node held by two',
      'allocation_devices_held_once',
      `${aNode}; ${allocation({ ...onNode, id: ':robot' })}; ${allocation({ ...onNode, id: ':robot_1', username_on_node: `'gh-second'` })};
       ${heldDevice({ allocation_id: ':robot' })}; ${heldDevice({ allocation_id: ':robot_1' })}`,
    ],
    ['SG-24', 'a GPU of another node than the allocation’s', 'allocation_devices_of_allocation', `${aNode}; ${heldDevice()}`],
    [
      'SG-24',
      'a GPU before the first',
      'allocation_devices_device_index_check',
      `${aNode}; ${allocation({ ...onNode, id: ':robot' })}; ${heldDevice({ allocation_id: ':robot', device_index: '-1' })}`,
    ],
    [
      'SG-24',
      'a GPU given back before it was held',
      'allocation_devices_check',
      `${aNode}; ${allocation({ ...onNode, id: ':robot' })}; ${heldDevice({ allocation_id: ':robot', released_at: `now() - interval '1 day'` })}`,
    ],
    ['SG-13', 'a person let in twice with one key', 'access_grant_already_exists', accessGrant()],
    [
      'SG-01',
      'a grant in another project than the allocation',
      'allocation_access_grants_of_allocation',
      accessGrant({ ...endedGrant, project_id: ':inference' }),
    ],
    ['SG-11', 'a grant that ended for no cause', 'allocation_access_grants_end_whole', accessGrant({ ended_at: 'now()' })],
    [
      'SG-11',
      'a grant ended by somebody and still there',
      'allocation_access_grants_end_whole',
      'update allocation_access_grants set ended_by = :ada',
    ],
    [
      'SG-11',
      'a grant that ended for a cause that there is not',
      'allocation_access_grants_end_cause_check',
      accessGrant({ ...endedGrant, end_cause: `'forgotten'` }),
    ],
    ['SG-11', 'a grant of no epoch', 'allocation_access_grants_epoch_check', accessGrant({ ...endedGrant, epoch: '0' })],
    ['SG-07', 'a key of an allocation once more', 'allocation_ssh_public_keys_one', allocationKey()],
    ['SG-10', 'a key of an allocation of no epoch', 'allocation_ssh_public_keys_epoch_check', allocationKey({ epoch: '0' })],
    [
      'SG-11',
      'a key of an allocation ended without a cause',
      'allocation_ssh_public_keys_end_whole',
      'update allocation_ssh_public_keys set ended_at = now()',
    ],
    [
      'MI-01',
      'an allocation for a runtime of another tenant',
      'allocations_shared_runtime',
      allocation({ org_id: ':borealis', project_id: ':inference', shared_runtime_id: ':runtime' }),
    ],
  ],
  allowed: [
    [
      'a key again when it was deleted',
      `update ssh_public_keys set deleted_at = now(), deleted_by = :ada, delete_reason = 'x'; ${sshKey()}; ${projectSshKey()}`,
    ],
    ['one key of two people', sshKey({ user_id: ':bob' })],
    [
      'a key of an allocation again when it was ended',
      `update allocation_ssh_public_keys set ended_at = now(), end_cause = 'x'; ${allocationKey()}`,
    ],
    [
      'a person let in again after the end',
      `update allocation_access_grants set ended_at = now(), end_cause = 'revoked'; ${accessGrant()}`,
    ],
    [
      'a name on a node again when nothing is left of the first',
      `${aNode}; ${allocation({ ...onNode, state: `'released'`, cleared_at: 'now()' })}; ${allocation(onNode)}`,
    ],
  ],
}
