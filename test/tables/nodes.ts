import { inserting, type Tables } from './spelled.ts'

const node = (changed: Record<string, string> = {}) =>
  inserting('nodes', {
    ...{ id: ':new', name: `'other'`, region: `'eu-1'`, sku: `'h100'`, gpus: '8', created_at: 'now()', created_by: ':ada' },
    ...changed,
  })
const nodeEnrolment = (changed: Record<string, string> = {}) =>
  inserting('node_enrolments', {
    ...{ id: ':new', node_id: ':host', secret_hash: `decode(repeat('00', 32), 'hex')`, epoch: '1' },
    ...{ created_at: 'now()', created_by: ':ada', expires_at: `now() + interval '15 minutes'` },
    ...changed,
  })
const nodeCertificate = (changed: Record<string, string> = {}) =>
  inserting('node_certificates', {
    ...{
      serial: `md5(cast(random() as text))`,
      node_id: ':host',
      thumbprint: `repeat('b', 64)`,
      key_thumbprint: `repeat('a', 64)`,
      public_key: `'AAAA'`,
    },
    ...{ epoch: '1', issued_at: 'now()', expires_at: `now() + interval '1 day'` },
    ...changed,
  })
const nodeAuthority = (changed: Record<string, string> = {}) =>
  inserting('node_authorities', {
    ...{ id: ':new', certificate: `'x'`, envelope: `'{}'`, created_at: 'now()', ends_at: `now() + interval '1 day'` },
    ...changed,
  })
/** One in its grace, of which there may be several. */
const taskSigner = (changed: Record<string, string> = {}) =>
  inserting('task_signers', {
    ...{ kid: `repeat('c', 43)`, version: '3', certificate: `'x'`, envelope: `'{}'`, epoch: '1', state: `'grace'` },
    ...{ created_at: 'now()', activated_at: 'now()', grace_until: 'now()' },
    ...changed,
  })
const activeSigner = { kid: `repeat('a', 43)`, version: '1', state: `'active'`, grace_until: 'null' }
const stagedSigner = { kid: `repeat('b', 43)`, version: '2', state: `'staged'`, activated_at: 'null', grace_until: 'null' }
/** One that waits for the node. */
const nodeTask = (changed: Record<string, string> = {}) =>
  inserting('node_tasks', {
    ...{ id: ':new', node_id: ':host', type: `'allocation.provision_user'`, allocation_id: ':allocation', org_id: ':aurora' },
    ...{ params: `'{}'`, generation: '1', kid: `repeat('a', 43)`, signature: `repeat('s', 86)`, correlation_id: `'x'` },
    ...{ created_at: 'now()', expires_at: `now() + interval '1 hour'` },
    ...changed,
  })
const sshSession = (changed: Record<string, string> = {}) =>
  inserting('ssh_sessions', {
    ...{ id: ':new', node_id: ':host', session_id: `'x.1'`, allocation_id: ':allocation', fingerprint: `'SHA256:' || repeat('a', 43)` },
    ...{ user_ids: `'{}'`, grant_ids: `'{}'`, started_at: 'now()' },
    ...changed,
  })

export const nodes: Tables = {
  names: ['nodes', 'node_authorities', 'node_enrolments', 'node_certificates', 'task_signers', 'node_tasks', 'ssh_sessions', 'node_events'],
  world: `
  ${node({ id: ':host', name: `'host'` })};
  ${nodeEnrolment()};
  ${nodeCertificate({ thumbprint: `repeat('a', 64)` })};
  ${nodeAuthority()};
  ${taskSigner(activeSigner)};
  ${taskSigner(stagedSigner)};
  ${nodeTask()};
  ${sshSession({ session_id: `'there'` })};
  insert into node_events (node_id, event_id, told_at) values (:host, :new, now());`,
  refused: [
    ['SG-22', 'a second version that signs tasks', 'task_signers_one_active', taskSigner({ state: `'active'`, grace_until: 'null' })],
    [
      'SG-22',
      'a second version that is next',
      'task_signers_one_staged',
      taskSigner({ ...stagedSigner, kid: `repeat('c', 43)`, version: '3' }),
    ],
    ['SG-22', 'two of one version', 'task_signers_version_key', taskSigner({ version: '1' })],
    ['SG-22', 'a version before the first', 'task_signers_version_check', taskSigner({ version: '0' })],
    ['SG-22', 'a version of no epoch', 'task_signers_epoch_check', taskSigner({ epoch: '0' })],
    ['SG-22', 'a version that is called by something else', 'task_signers_kid_check', taskSigner({ kid: `'mine'` })],
    ['SG-22', 'a version in no state that there is', 'task_signers_state_check', taskSigner({ state: `'lost'` })],
    ['SG-22', 'a revoked version that has not ended', 'task_signers_states', taskSigner({ state: `'revoked'` })],
    ['SG-22', 'a grace without an end', 'task_signers_states', taskSigner({ grace_until: 'null' })],
    ['SG-22', 'a task of a type that nobody knows', 'node_tasks_type_check', nodeTask({ type: `'shell.run'` })],
    ['SG-22', 'a task whose parameters are none', 'node_tasks_params_check', nodeTask({ params: `'[]'` })],
    ['SG-22', 'a task without a signature', 'node_tasks_signature_check', nodeTask({ signature: `''` })],
    ['SG-22', 'a task that is over as it begins', 'node_tasks_check', nodeTask({ expires_at: 'now()' })],
    ['SG-10', 'a task before the first generation', 'node_tasks_generation_check', nodeTask({ generation: '-1' })],
    ['SG-10', 'a task given less than never', 'node_tasks_attempts_check', nodeTask({ attempts: '-1' })],
    ['SG-10', 'a task in no state that there is', 'node_tasks_state_check', nodeTask({ state: `'paused'` })],
    ['SG-16', 'a task that was reported and never given', 'node_tasks_states', nodeTask({ state: `'completed'` })],
    ['SG-16', 'a task that waits and was reported', 'node_tasks_states', nodeTask({ reported_at: 'now()', result: `'{}'` })],
    ['SG-16', 'a report without a word', 'node_tasks_reported_whole', nodeTask({ state: `'superseded'`, reported_at: 'now()' })],
    ['SG-10', 'two open tasks of one type for an allocation', 'node_tasks_one_open', nodeTask({ generation: '2' })],
    ['SG-21', 'one session of a node twice', 'ssh_sessions_one', sshSession({ session_id: `'there'` })],
    ['SG-21', 'a session that is called by a path', 'ssh_sessions_session_id_check', sshSession({ session_id: `'../x'` })],
    ['SG-21', 'a session of no key', 'ssh_sessions_fingerprint_check', sshSession({ fingerprint: `'SHA256:'` })],
    ['SG-21', 'a session from a whole sentence', 'ssh_sessions_source_ip_check', sshSession({ source_ip: `repeat('1', 46)` })],
    ['SG-21', 'a session of which nothing was told', 'ssh_sessions_told_of', sshSession({ started_at: 'null' })],
    ['SG-21', 'a session that ended for no cause', 'ssh_sessions_end_whole', sshSession({ ended_at: 'now()' })],
    ['SG-19', 'a session that goes on and whose processes were ended', 'ssh_sessions_end_whole', sshSession({ processes_ended: '1' })],
    [
      'SG-21',
      'a session that ended for an unknown cause',
      'ssh_sessions_end_cause_check',
      sshSession({ ended_at: 'now()', end_cause: `'bored'` }),
    ],
    [
      'SG-19',
      'less than no process ended',
      'ssh_sessions_processes_ended_check',
      sshSession({ ended_at: 'now()', end_cause: `'closed'`, processes_ended: '-1' }),
    ],
    ['SG-22', 'a second authority', 'node_authorities_one_active', nodeAuthority()],
    [
      'SG-22',
      'an authority that has ended before it began',
      'node_authorities_check',
      nodeAuthority({ is_active: 'false', ends_at: 'now()' }),
    ],
    ['SG-22', 'two nodes of one name', 'node_already_exists', node({ name: `'host'` })],
    ['SG-22', 'a node without a name', 'nodes_name_check', node({ name: `''` })],
    ['SG-22', 'a node with a name for a shell', 'nodes_name_check', node({ name: `'a;reboot'` })],
    ['SG-22', 'a node in no region', 'nodes_region_check', node({ region: `''` })],
    ['SG-22', 'a node of no kind', 'nodes_sku_check', node({ sku: `''` })],
    ['SG-22', 'a node with less than nothing', 'nodes_gpus_check', node({ gpus: '-1' })],
    ['SG-22', 'a status that there is not', 'nodes_status_check', node({ status: `'unavailable'` })],
    ['SG-22', 'an agent whose version is a story', 'nodes_agent_version_check', node({ agent_version: `repeat('1', 64)` })],
    ['SG-24', 'a protocol before the first', 'nodes_protocol_version_check', node({ protocol_version: '0' })],
    ['SG-24', 'devices that are no list', 'nodes_devices_check', node({ devices: `'{}'` })],
    ['SG-24', 'a host that is an option', 'nodes_ssh_host_check', node({ described_at: 'now()', ssh_host: `'-o'`, ssh_port: '22' })],
    ['SG-24', 'a port that there is not', 'nodes_ssh_port_check', node({ described_at: 'now()', ssh_host: `'a'`, ssh_port: '0' })],
    ['SG-24', 'a description without a host', 'nodes_described_whole', node({ described_at: 'now()' })],
    ['SG-25', 'stuck steps that are no list', 'nodes_stuck_steps_check', node({ stuck_steps: `'{}'` })],
    [
      'SG-22',
      'a node retired by nobody',
      'nodes_retired_whole',
      `update nodes set status = 'retired', retired_at = now() where id = :host`,
    ],
    [
      'SG-22',
      'a node that is retired and active',
      'nodes_retired_whole',
      `update nodes set retired_at = now(), retired_by = :ada, retire_reason = 'x' where id = :host`,
    ],
    ['SG-22', 'two open enrolments of one node', 'node_enrolments_one_open', nodeEnrolment()],
    [
      'SG-22',
      'an enrolment with its secret',
      'node_enrolments_secret_hash_check',
      nodeEnrolment({ secret_hash: `'secret'`, ended_at: 'now()' }),
    ],
    ['SG-22', 'an enrolment of no epoch', 'node_enrolments_epoch_check', nodeEnrolment({ epoch: '0', ended_at: 'now()' })],
    ['SG-22', 'an enrolment that is over at once', 'node_enrolments_check', nodeEnrolment({ expires_at: 'now()', ended_at: 'now()' })],
    ['SG-22', 'an enrolment that was used and is open', 'node_enrolments_used', 'update node_enrolments set is_used = true'],
    ['SG-22', 'one certificate of two nodes', 'node_certificates_thumbprint_key', nodeCertificate({ thumbprint: `repeat('a', 64)` })],
    ['SG-22', 'a serial that is none', 'node_certificates_serial_check', nodeCertificate({ serial: `'12 34'` })],
    ['SG-22', 'a thumbprint that is none', 'node_certificates_thumbprint_check', nodeCertificate({ thumbprint: `'b'` })],
    ['SG-22', 'a thumbprint of a key that is none', 'node_certificates_key_thumbprint_check', nodeCertificate({ key_thumbprint: `'b'` })],
    ['SG-22', 'a public key in another spelling', 'node_certificates_public_key_check', nodeCertificate({ public_key: `'-----BEGIN'` })],
    ['SG-22', 'a certificate of no epoch', 'node_certificates_epoch_check', nodeCertificate({ epoch: '0' })],
    ['SG-22', 'a certificate that has ended before it began', 'node_certificates_check', nodeCertificate({ expires_at: 'now()' })],
    ['SG-22', 'a certificate ended without a reason', 'node_certificates_end_whole', 'update node_certificates set ended_at = now()'],
    [
      'SG-22',
      'a certificate of an enrolment that cannot be given again',
      'node_certificates_given_whole',
      'update node_certificates set enrolment_id = (select id from node_enrolments limit 1)',
    ],
    [
      'SG-22',
      'two certificates of one enrolment',
      'node_certificates_enrolment_id_key',
      `update node_certificates set enrolment_id = (select id from node_enrolments limit 1), certificate = 'x';
     ${nodeCertificate({ enrolment_id: '(select id from node_enrolments limit 1)', certificate: `'x'` })}`,
    ],
    [
      'SG-22',
      'a certificate that is a story',
      'node_certificates_certificate_check',
      nodeCertificate({ certificate: `repeat('x', 4097)` }),
    ],
  ],
  allowed: [
    [
      'the name of a node again when it is retired',
      `update nodes set status = 'retired', retired_at = now(), retired_by = :ada, retire_reason = 'x' where id = :host; ${node({ name: `'host'` })}`,
    ],
    [
      'another task of an allocation when the first has given way',
      `update node_tasks set state = 'superseded'; ${nodeTask({ generation: '2' })}`,
    ],
    ['another enrolment when the first has ended', `update node_enrolments set ended_at = now(); ${nodeEnrolment()}`],
  ],
}
