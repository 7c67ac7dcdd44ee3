-- Written by `npm run generate` from the catalogue of a freshly migrated database; read and reviewed, never run.

create table allocation_access_grants (
  id uuid not null,
  allocation_id uuid not null,
  project_id uuid not null,
  grantee_user_id uuid not null,
  ssh_key_id uuid not null,
  epoch integer not null,
  expires_at timestamp with time zone,
  reason text,
  created_at timestamp with time zone not null,
  created_by uuid not null,
  updated_at timestamp with time zone not null,
  generation bigint,
  ended_at timestamp with time zone,
  ended_by uuid,
  end_cause text,
  constraint allocation_access_grants_pkey PRIMARY KEY (id),
  constraint allocation_access_grants_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint allocation_access_grants_grantee_user_id_fkey FOREIGN KEY (grantee_user_id) REFERENCES users(id),
  constraint allocation_access_grants_of_allocation FOREIGN KEY (allocation_id, project_id) REFERENCES allocations(id, project_id),
  constraint allocation_access_grants_ssh_key_id_fkey FOREIGN KEY (ssh_key_id) REFERENCES ssh_public_keys(id),
  constraint allocation_access_grants_end_cause_check CHECK ((end_cause = ANY (ARRAY['revoked'::text, 'expired'::text, 'project_membership_ended'::text, 'tenant_membership_ended'::text, 'key_deleted'::text, 'user_disabled'::text, 'allocation_released'::text, 'allocation_failed'::text, 'node_retired'::text, 'backup_restored'::text]))),
  constraint allocation_access_grants_end_whole CHECK (((num_nulls(ended_at, end_cause) = ANY (ARRAY[0, 2])) AND ((ended_by IS NULL) OR (ended_at IS NOT NULL)))),
  constraint allocation_access_grants_epoch_check CHECK ((epoch > 0))
);
CREATE UNIQUE INDEX access_grant_already_exists ON public.allocation_access_grants USING btree (allocation_id, grantee_user_id, ssh_key_id) WHERE (ended_at IS NULL);
CREATE INDEX allocation_access_grants_by_end ON public.allocation_access_grants USING btree (expires_at) WHERE ((ended_at IS NULL) AND (expires_at IS NOT NULL));
CREATE INDEX allocation_access_grants_of_allocation_by_id ON public.allocation_access_grants USING btree (allocation_id, id);
CREATE INDEX allocation_access_grants_of_grantee ON public.allocation_access_grants USING btree (grantee_user_id) WHERE (ended_at IS NULL);
CREATE INDEX allocation_access_grants_of_key ON public.allocation_access_grants USING btree (ssh_key_id) WHERE (ended_at IS NULL);
grant insert, select, update on allocation_access_grants to gatehouse_app;

create table allocation_devices (
  allocation_id uuid not null,
  node_id uuid not null,
  device_index integer not null,
  held_since timestamp with time zone not null,
  released_at timestamp with time zone,
  constraint allocation_devices_pkey PRIMARY KEY (allocation_id, device_index),
  constraint allocation_devices_of_allocation FOREIGN KEY (allocation_id, node_id) REFERENCES allocations(id, node_id),
  constraint allocation_devices_check CHECK ((released_at >= held_since)),
  constraint allocation_devices_device_index_check CHECK (((device_index >= 0) AND (device_index <= 1023)))
);
CREATE UNIQUE INDEX allocation_devices_held_once ON public.allocation_devices USING btree (node_id, device_index) WHERE (released_at IS NULL);
grant insert, select, update on allocation_devices to gatehouse_app;

create table allocation_ssh_public_keys (
  id uuid not null,
  allocation_id uuid not null,
  ssh_key_id uuid not null,
  epoch integer not null,
  created_at timestamp with time zone not null,
  created_by uuid not null,
  ended_at timestamp with time zone,
  end_cause text,
  constraint allocation_ssh_public_keys_pkey PRIMARY KEY (id),
  constraint allocation_ssh_public_keys_allocation_id_fkey FOREIGN KEY (allocation_id) REFERENCES allocations(id),
  constraint allocation_ssh_public_keys_ssh_key_id_fkey FOREIGN KEY (ssh_key_id) REFERENCES ssh_public_keys(id),
  constraint allocation_ssh_public_keys_end_whole CHECK ((num_nulls(ended_at, end_cause) = ANY (ARRAY[0, 2]))),
  constraint allocation_ssh_public_keys_epoch_check CHECK ((epoch > 0))
);
CREATE INDEX allocation_ssh_public_keys_of_key ON public.allocation_ssh_public_keys USING btree (ssh_key_id) WHERE (ended_at IS NULL);
CREATE UNIQUE INDEX allocation_ssh_public_keys_one ON public.allocation_ssh_public_keys USING btree (allocation_id, ssh_key_id) WHERE (ended_at IS NULL);
grant insert, select, update on allocation_ssh_public_keys to gatehouse_app;

create table allocations (
  id uuid not null,
  org_id uuid not null,
  project_id uuid not null,
  name text not null,
  requested_by_type text not null,
  requested_by uuid not null,
  owner_user_id uuid,
  shared_runtime_id uuid,
  region text not null,
  sku text not null,
  gpus integer not null,
  node_id uuid,
  username_on_node text,
  state text default 'requested'::text not null,
  state_since timestamp with time zone not null,
  failure text,
  generation bigint default 0 not null,
  epoch integer not null,
  confirmed_generation bigint default 0 not null,
  confirmed_at timestamp with time zone,
  created_at timestamp with time zone not null,
  cleared_at timestamp with time zone,
  is_abandoned boolean default false not null,
  terms_due_at timestamp with time zone,
  constraint allocations_pkey PRIMARY KEY (id),
  constraint allocations_in_project UNIQUE (id, project_id),
  constraint allocations_on_its_node UNIQUE (id, node_id),
  constraint allocations_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint allocations_of_project FOREIGN KEY (project_id, org_id) REFERENCES projects(id, org_id),
  constraint allocations_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint allocations_shared_runtime FOREIGN KEY (shared_runtime_id, org_id) REFERENCES shared_app_runtimes(id, org_id),
  constraint allocations_abandoned CHECK (((NOT is_abandoned) OR ((state = 'failed'::text) AND (node_id IS NOT NULL) AND (cleared_at IS NOT NULL)))),
  constraint allocations_confirmed CHECK ((((confirmed_generation >= 0) AND (confirmed_generation <= generation)) AND ((confirmed_generation = 0) = (confirmed_at IS NULL)))),
  constraint allocations_epoch_check CHECK ((epoch > 0)),
  constraint allocations_failure_check CHECK ((length(failure) <= 100)),
  constraint allocations_gpus_check CHECK (((gpus >= 0) AND (gpus <= 1024))),
  constraint allocations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint allocations_placed CHECK (((node_id IS NULL) = (username_on_node IS NULL))),
  constraint allocations_region_check CHECK (((length(region) >= 1) AND (length(region) <= 63))),
  constraint allocations_requested_by_type_check CHECK ((requested_by_type = ANY (ARRAY['user'::text, 'service_account'::text]))),
  constraint allocations_sku_check CHECK (((length(sku) >= 1) AND (length(sku) <= 63))),
  constraint allocations_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'provisioning'::text, 'active'::text, 'releasing'::text, 'released'::text, 'failed'::text, 'release_failed'::text]))),
  constraint allocations_states CHECK (
CASE state
    WHEN 'requested'::text THEN ((node_id IS NULL) AND (cleared_at IS NULL))
    WHEN 'released'::text THEN (cleared_at IS NOT NULL)
    WHEN 'failed'::text THEN true
    ELSE ((node_id IS NOT NULL) AND (cleared_at IS NULL))
END),
  constraint allocations_username_on_node_check CHECK ((username_on_node ~ '^gh-[a-z0-9]{6,20}$'::text))
);
CREATE INDEX allocations_of_project_by_id ON public.allocations USING btree (project_id, id);
CREATE INDEX allocations_of_runtime ON public.allocations USING btree (shared_runtime_id) WHERE (shared_runtime_id IS NOT NULL);
CREATE INDEX allocations_on_node ON public.allocations USING btree (node_id) WHERE ((cleared_at IS NULL) AND (node_id IS NOT NULL));
CREATE INDEX allocations_terms_due ON public.allocations USING btree (id) WHERE (terms_due_at IS NOT NULL);
CREATE UNIQUE INDEX allocations_username_on_node ON public.allocations USING btree (node_id, username_on_node) WHERE (cleared_at IS NULL);
CREATE INDEX allocations_waiting ON public.allocations USING btree (created_at) WHERE (state = 'requested'::text);
grant insert, select, update on allocations to gatehouse_app;

create table audit_heads (
  chain_id uuid not null,
  seq bigint not null,
  hash bytea not null,
  constraint audit_heads_pkey PRIMARY KEY (chain_id),
  constraint audit_heads_hash_check CHECK ((length(hash) = 32)),
  constraint audit_heads_seq_check CHECK ((seq >= 0))
);
grant insert, select, update on audit_heads to gatehouse_app;

create table audit_logs (
  chain_id uuid not null,
  seq bigint not null,
  id uuid not null,
  occurred_at timestamp with time zone not null,
  correlation_id text not null,
  actor_type text not null,
  actor_id text,
  platform_role text,
  tenant_id uuid,
  project_id uuid,
  resource_type text not null,
  resource_id text,
  resource_name text,
  action text not null,
  result text not null,
  reason_code text,
  severity text not null,
  metadata json not null,
  hash bytea not null,
  credential_id text,
  jti text,
  constraint audit_logs_pkey PRIMARY KEY (chain_id, seq),
  constraint audit_logs_id_once UNIQUE (id),
  constraint audit_logs_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects(id, org_id),
  constraint audit_logs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES organizations(id),
  constraint audit_logs_chain CHECK ((chain_id = COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid))),
  constraint audit_logs_correlation_id_check CHECK (((length(correlation_id) >= 1) AND (length(correlation_id) <= 128))),
  constraint audit_logs_hash_check CHECK ((length(hash) = 32)),
  constraint audit_logs_reason CHECK (((result = 'success'::text) = (reason_code IS NULL))),
  constraint audit_logs_result_check CHECK ((result = ANY (ARRAY['success'::text, 'denied'::text, 'failed'::text]))),
  constraint audit_logs_seq_check CHECK ((seq > 0)),
  constraint audit_logs_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'high'::text])))
);
CREATE INDEX audit_logs_of_correlation ON public.audit_logs USING btree (correlation_id);
CREATE INDEX audit_logs_of_credential ON public.audit_logs USING btree (credential_id, id) WHERE (credential_id IS NOT NULL);
CREATE INDEX audit_logs_of_project ON public.audit_logs USING btree (project_id, id) WHERE (project_id IS NOT NULL);
CREATE INDEX audit_logs_of_tenant ON public.audit_logs USING btree (tenant_id, id);
CREATE INDEX audit_logs_of_token ON public.audit_logs USING btree (jti, id) WHERE (jti IS NOT NULL);
grant insert, select on audit_logs to gatehouse_app;

create table epochs (
  id uuid not null,
  value bigint not null,
  stamp uuid not null,
  constraint epochs_pkey PRIMARY KEY (id),
  constraint epochs_value_check CHECK ((value > 0))
);
grant insert, select, update on epochs to gatehouse_app;

create table idempotency_keys (
  actor_type text not null,
  actor_id text not null,
  key text not null,
  request_hash text not null,
  decided jsonb default '[]'::jsonb not null,
  status integer,
  reply jsonb,
  credential_session_id text,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint idempotency_keys_pkey PRIMARY KEY (actor_type, actor_id, key),
  constraint idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 128)))
);
CREATE INDEX idempotency_keys_expiry ON public.idempotency_keys USING btree (expires_at);
grant delete, insert, select, update on idempotency_keys to gatehouse_app;

create table installation (
  is_one boolean default true not null,
  id uuid not null,
  epoch integer default 1 not null,
  is_restored boolean default false not null,
  checkpoint_number bigint default 0 not null,
  created_at timestamp with time zone default now() not null,
  constraint installation_pkey PRIMARY KEY (is_one),
  constraint installation_checkpoint_number_check CHECK ((checkpoint_number >= 0)),
  constraint installation_epoch_check CHECK ((epoch > 0)),
  constraint installation_is_one_check CHECK (is_one)
);
CREATE CONSTRAINT TRIGGER installation_move_epoch AFTER UPDATE ON public.installation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.epoch IS DISTINCT FROM new.epoch)) EXECUTE FUNCTION move_epoch_of_row('platform');
grant select, update on installation to gatehouse_app;

create table installation_secrets (
  name text not null,
  envelope jsonb not null,
  created_at timestamp with time zone not null,
  constraint installation_secrets_pkey PRIMARY KEY (name),
  constraint installation_secrets_name_check CHECK ((name ~ '^[a-z][a-z_]*$'::text))
);
grant insert, select, update on installation_secrets to gatehouse_app;

create table invitations (
  id uuid not null,
  tenant_id uuid not null,
  project_id uuid,
  email text not null,
  role_version_id uuid not null,
  inviter_user_id uuid not null,
  created_at timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  accepted_at timestamp with time zone,
  accepted_by uuid,
  ended_at timestamp with time zone,
  ended_by uuid,
  end_reason text,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_accepted_by_fkey FOREIGN KEY (accepted_by) REFERENCES users(id),
  constraint invitations_ended_by_fkey FOREIGN KEY (ended_by) REFERENCES users(id),
  constraint invitations_inviter_user_id_fkey FOREIGN KEY (inviter_user_id) REFERENCES users(id),
  constraint invitations_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects(id, org_id),
  constraint invitations_role_version_id_fkey FOREIGN KEY (role_version_id) REFERENCES role_definition_versions(id),
  constraint invitations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES organizations(id),
  constraint invitations_accepted_whole CHECK (((accepted_at IS NULL) = (accepted_by IS NULL))),
  constraint invitations_email_check CHECK ((((length(email) >= 3) AND (length(email) <= 320)) AND (email = lower(email)))),
  constraint invitations_end_whole CHECK (((ended_at IS NULL) = (end_reason IS NULL))),
  constraint invitations_one_end CHECK (((accepted_at IS NULL) OR (ended_at IS NULL)))
);
CREATE UNIQUE INDEX invitation_already_exists ON public.invitations USING btree (tenant_id, project_id, email) NULLS NOT DISTINCT WHERE ((accepted_at IS NULL) AND (ended_at IS NULL));
CREATE INDEX invitations_of_email ON public.invitations USING btree (email) WHERE ((accepted_at IS NULL) AND (ended_at IS NULL));
grant insert, select, update on invitations to gatehouse_app;

create table issued_tokens (
  id uuid not null,
  number bigint generated always as identity not null,
  actor_type text not null,
  actor_id uuid not null,
  credential_id uuid,
  parent_id uuid,
  org_id uuid,
  project_id uuid,
  org_id_alone uuid generated always as (
CASE
    WHEN (project_id IS NULL) THEN org_id
    ELSE NULL::uuid
END) stored,
  binding jsonb default '{}'::jsonb not null,
  typ text not null,
  kid text not null,
  audience text not null,
  scope text[] not null,
  cnf_jkt text,
  act jsonb,
  epoch integer not null,
  issued_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  source_workflow_id text,
  reason text,
  revoked_at timestamp with time zone,
  revoked_by uuid,
  revoke_reason text,
  constraint issued_tokens_pkey PRIMARY KEY (id),
  constraint issued_tokens_in_project FOREIGN KEY (project_id, org_id) REFERENCES projects(id, org_id),
  constraint issued_tokens_kid_fkey FOREIGN KEY (kid) REFERENCES signing_keys(kid),
  constraint issued_tokens_org_id_alone_fkey FOREIGN KEY (org_id_alone) REFERENCES organizations(id),
  constraint issued_tokens_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES issued_tokens(id),
  constraint issued_tokens_act_check CHECK ((jsonb_typeof(act) = 'object'::text)),
  constraint issued_tokens_acting CHECK (((act IS NULL) OR (parent_id IS NOT NULL))),
  constraint issued_tokens_actor_type_check CHECK ((actor_type = ANY (ARRAY['service_account'::text, 'shared_runtime_operator'::text, 'workload'::text, 'node_agent'::text, 'platform_operator'::text]))),
  constraint issued_tokens_bound CHECK (
CASE actor_type
    WHEN 'service_account'::text THEN (num_nonnulls(org_id, project_id, credential_id) = 3)
    WHEN 'shared_runtime_operator'::text THEN ((org_id IS NOT NULL) AND (project_id IS NULL))
    WHEN 'workload'::text THEN (num_nonnulls(org_id, project_id) = 2)
    ELSE ((project_id IS NULL) OR (org_id IS NOT NULL))
END),
  constraint issued_tokens_check CHECK ((expires_at > issued_at)),
  constraint issued_tokens_cnf_jkt_check CHECK ((cnf_jkt ~ '^[A-Za-z0-9_-]{43}$'::text)),
  constraint issued_tokens_epoch_check CHECK ((epoch > 0)),
  constraint issued_tokens_revoked_whole CHECK ((num_nulls(revoked_at, revoked_by, revoke_reason) = ANY (ARRAY[0, 3])))
);
CREATE INDEX issued_tokens_children ON public.issued_tokens USING btree (parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX issued_tokens_expired ON public.issued_tokens USING brin (expires_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX issued_tokens_of_key ON public.issued_tokens USING btree (kid, expires_at);
CREATE INDEX issued_tokens_of_project ON public.issued_tokens USING btree (project_id, id);
CREATE CONSTRAINT TRIGGER issued_tokens_gone_move_epoch AFTER DELETE ON public.issued_tokens DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.expires_at > now())) EXECUTE FUNCTION move_epoch_of_row('project');
CREATE CONSTRAINT TRIGGER issued_tokens_move_epoch AFTER UPDATE ON public.issued_tokens DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('project');
grant delete, insert, select, update on issued_tokens to gatehouse_app;
grant select on sequence issued_tokens_number_seq to gatehouse_app;

create table node_authorities (
  id uuid not null,
  certificate text not null,
  envelope jsonb not null,
  created_at timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  is_active boolean default true not null,
  constraint node_authorities_pkey PRIMARY KEY (id),
  constraint node_authorities_check CHECK ((ends_at > created_at))
);
CREATE UNIQUE INDEX node_authorities_one_active ON public.node_authorities USING btree ((true)) WHERE is_active;
grant insert, select, update on node_authorities to gatehouse_app;

create table node_certificates (
  serial text not null,
  node_id uuid not null,
  thumbprint text not null,
  key_thumbprint text not null,
  public_key text not null,
  epoch integer not null,
  issued_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  end_reason text,
  enrolment_id uuid,
  certificate text,
  constraint node_certificates_pkey PRIMARY KEY (serial),
  constraint node_certificates_enrolment_id_key UNIQUE (enrolment_id),
  constraint node_certificates_thumbprint_key UNIQUE (thumbprint),
  constraint node_certificates_enrolment_id_fkey FOREIGN KEY (enrolment_id) REFERENCES node_enrolments(id),
  constraint node_certificates_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint node_certificates_certificate_check CHECK ((length(certificate) <= 4096)),
  constraint node_certificates_check CHECK ((expires_at > issued_at)),
  constraint node_certificates_end_whole CHECK ((num_nulls(ended_at, end_reason) = ANY (ARRAY[0, 2]))),
  constraint node_certificates_epoch_check CHECK ((epoch > 0)),
  constraint node_certificates_given_whole CHECK ((num_nulls(enrolment_id, certificate) = ANY (ARRAY[0, 2]))),
  constraint node_certificates_key_thumbprint_check CHECK ((key_thumbprint ~ '^[0-9a-f]{64}$'::text)),
  constraint node_certificates_public_key_check CHECK (((public_key ~ '^[A-Za-z0-9+/]+={0,2}$'::text) AND (length(public_key) <= 200))),
  constraint node_certificates_serial_check CHECK ((serial ~ '^[0-9a-f]{16,40}$'::text)),
  constraint node_certificates_thumbprint_check CHECK ((thumbprint ~ '^[0-9a-f]{64}$'::text))
);
CREATE INDEX node_certificates_of_node ON public.node_certificates USING btree (node_id) WHERE (ended_at IS NULL);
grant insert, select, update on node_certificates to gatehouse_app;

create table node_enrolments (
  id uuid not null,
  node_id uuid not null,
  secret_hash bytea not null,
  epoch integer not null,
  created_at timestamp with time zone not null,
  created_by uuid not null,
  expires_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  is_used boolean default false not null,
  constraint node_enrolments_pkey PRIMARY KEY (id),
  constraint node_enrolments_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint node_enrolments_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint node_enrolments_check CHECK ((expires_at > created_at)),
  constraint node_enrolments_epoch_check CHECK ((epoch > 0)),
  constraint node_enrolments_secret_hash_check CHECK ((length(secret_hash) = 32)),
  constraint node_enrolments_used CHECK (((NOT is_used) OR (ended_at IS NOT NULL)))
);
CREATE UNIQUE INDEX node_enrolments_one_open ON public.node_enrolments USING btree (node_id) WHERE (ended_at IS NULL);
grant insert, select, update on node_enrolments to gatehouse_app;

create table node_events (
  node_id uuid not null,
  event_id uuid not null,
  told_at timestamp with time zone not null,
  constraint node_events_pkey PRIMARY KEY (node_id, event_id),
  constraint node_events_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE INDEX node_events_by_time ON public.node_events USING btree (told_at);
grant delete, insert, select on node_events to gatehouse_app;

create table node_tasks (
  id uuid not null,
  node_id uuid not null,
  type text not null,
  allocation_id uuid,
  org_id uuid,
  project_id uuid,
  params jsonb not null,
  generation bigint not null,
  kid text not null,
  signature text not null,
  state text default 'queued'::text not null,
  created_at timestamp with time zone not null,
  correlation_id text not null,
  expires_at timestamp with time zone not null,
  dispatched_at timestamp with time zone,
  dispatched_to uuid,
  attempts integer default 0 not null,
  reported_at timestamp with time zone,
  result jsonb,
  overdue_noted_at timestamp with time zone,
  constraint node_tasks_pkey PRIMARY KEY (id),
  constraint node_tasks_allocation_id_fkey FOREIGN KEY (allocation_id) REFERENCES allocations(id),
  constraint node_tasks_kid_fkey FOREIGN KEY (kid) REFERENCES task_signers(kid),
  constraint node_tasks_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint node_tasks_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
  constraint node_tasks_attempts_check CHECK ((attempts >= 0)),
  constraint node_tasks_check CHECK ((expires_at > created_at)),
  constraint node_tasks_generation_check CHECK ((generation >= 0)),
  constraint node_tasks_params_check CHECK ((jsonb_typeof(params) = 'object'::text)),
  constraint node_tasks_reported_whole CHECK ((num_nulls(reported_at, result) = ANY (ARRAY[0, 2]))),
  constraint node_tasks_signature_check CHECK ((signature ~ '^[A-Za-z0-9_-]{86}$'::text)),
  constraint node_tasks_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'dispatched'::text, 'completed'::text, 'failed'::text, 'expired'::text, 'superseded'::text]))),
  constraint node_tasks_states CHECK (
CASE state
    WHEN 'queued'::text THEN (num_nonnulls(dispatched_at, reported_at) = 0)
    WHEN 'dispatched'::text THEN ((dispatched_at IS NOT NULL) AND (reported_at IS NULL))
    WHEN 'completed'::text THEN (num_nonnulls(dispatched_at, reported_at) = 2)
    WHEN 'failed'::text THEN (num_nonnulls(dispatched_at, reported_at) = 2)
    ELSE true
END),
  constraint node_tasks_type_check CHECK ((type = ANY (ARRAY['allocation.provision_user'::text, 'allocation.install_authorized_keys'::text, 'allocation.deprovision_user'::text, 'storage.mount'::text, 'storage.unmount'::text, 'diag.health_probe'::text])))
);
CREATE INDEX node_tasks_of_allocation ON public.node_tasks USING btree (allocation_id, generation);
CREATE INDEX node_tasks_of_node ON public.node_tasks USING btree (node_id, id);
CREATE UNIQUE INDEX node_tasks_one_open ON public.node_tasks USING btree (allocation_id, type) WHERE ((state = ANY (ARRAY['queued'::text, 'dispatched'::text])) AND (allocation_id IS NOT NULL));
CREATE INDEX node_tasks_open ON public.node_tasks USING btree (node_id, created_at) WHERE (state = ANY (ARRAY['queued'::text, 'dispatched'::text]));
CREATE TRIGGER node_tasks_wake_node AFTER INSERT ON public.node_tasks FOR EACH ROW EXECUTE FUNCTION wake_node();
grant insert, select, update on node_tasks to gatehouse_app;

create table nodes (
  id uuid not null,
  name text not null,
  region text not null,
  sku text not null,
  gpus integer not null,
  status text default 'active'::text not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  enrolled_at timestamp with time zone,
  last_seen_at timestamp with time zone,
  agent_version text,
  agent_version_at timestamp with time zone,
  retired_at timestamp with time zone,
  retired_by uuid,
  retire_reason text,
  protocol_version integer default 1 not null,
  described_at timestamp with time zone,
  devices jsonb default '[]'::jsonb not null,
  shared_devices text[] default '{}'::text[] not null,
  ssh_host text,
  ssh_port integer,
  ssh_host_keys text[] default '{}'::text[] not null,
  stuck_steps jsonb default '[]'::jsonb not null,
  constraint nodes_pkey PRIMARY KEY (id),
  constraint nodes_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint nodes_retired_by_fkey FOREIGN KEY (retired_by) REFERENCES users(id),
  constraint nodes_agent_version_check CHECK ((length(agent_version) <= 63)),
  constraint nodes_described_whole CHECK ((num_nulls(described_at, ssh_host, ssh_port) = ANY (ARRAY[0, 3]))),
  constraint nodes_devices_check CHECK ((jsonb_typeof(devices) = 'array'::text)),
  constraint nodes_gpus_check CHECK (((gpus >= 0) AND (gpus <= 1024))),
  constraint nodes_name_check CHECK (((name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'::text) AND (length(name) <= 63))),
  constraint nodes_protocol_version_check CHECK (((protocol_version >= 1) AND (protocol_version <= 9999))),
  constraint nodes_region_check CHECK (((length(region) >= 1) AND (length(region) <= 63))),
  constraint nodes_retired_whole CHECK (((num_nulls(retired_at, retired_by, retire_reason) = ANY (ARRAY[0, 3])) AND ((status = 'retired'::text) = (retired_at IS NOT NULL)))),
  constraint nodes_sku_check CHECK (((length(sku) >= 1) AND (length(sku) <= 63))),
  constraint nodes_ssh_host_check CHECK ((ssh_host ~ '^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$'::text)),
  constraint nodes_ssh_port_check CHECK (((ssh_port >= 1) AND (ssh_port <= 65535))),
  constraint nodes_status_check CHECK ((status = ANY (ARRAY['active'::text, 'drained'::text, 'retired'::text]))),
  constraint nodes_stuck_steps_check CHECK ((jsonb_typeof(stuck_steps) = 'array'::text))
);
CREATE UNIQUE INDEX node_already_exists ON public.nodes USING btree (name) WHERE (status <> 'retired'::text);
CREATE TRIGGER nodes_wake_retired AFTER UPDATE OF status ON public.nodes FOR EACH ROW WHEN ((new.status = 'retired'::text)) EXECUTE FUNCTION wake_retired_node();
grant insert, select, update on nodes to gatehouse_app;

create table organizations (
  id uuid not null,
  type text not null,
  name text not null,
  slug text not null,
  state text default 'active'::text not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  constraint organizations_pkey PRIMARY KEY (id),
  constraint organizations_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint organizations_deleted_by_fkey FOREIGN KEY (deleted_by) REFERENCES users(id),
  constraint organizations_end_whole CHECK ((num_nulls(deleted_at, deleted_by, delete_reason) = ANY (ARRAY[0, 3]))),
  constraint organizations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint organizations_slug_check CHECK (((slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'::text) AND (length(slug) <= 63))),
  constraint organizations_state_check CHECK ((state = ANY (ARRAY['active'::text, 'suspended'::text]))),
  constraint organizations_type_check CHECK ((type = ANY (ARRAY['personal'::text, 'enterprise'::text])))
);
CREATE UNIQUE INDEX organization_already_exists ON public.organizations USING btree (slug) WHERE (deleted_at IS NULL);
CREATE CONSTRAINT TRIGGER organizations_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.organizations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('organization');
grant insert, select, update on organizations to gatehouse_app;

create table platform_role_bindings (
  id uuid not null,
  principal_type text not null,
  principal_id uuid not null,
  role_definition_id uuid not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  constraint platform_role_bindings_pkey PRIMARY KEY (id),
  constraint platform_role_bindings_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint platform_role_bindings_deleted_by_fkey FOREIGN KEY (deleted_by) REFERENCES users(id),
  constraint platform_role_bindings_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES users(id),
  constraint platform_role_bindings_role_definition_id_fkey FOREIGN KEY (role_definition_id) REFERENCES role_definitions(id),
  constraint platform_role_bindings_end_whole CHECK (((deleted_at IS NULL) = (delete_reason IS NULL))),
  constraint platform_role_bindings_principal_type_check CHECK ((principal_type = 'user'::text))
);
CREATE UNIQUE INDEX platform_role_bindings_one_active ON public.platform_role_bindings USING btree (principal_type, principal_id, role_definition_id) WHERE (deleted_at IS NULL);
CREATE CONSTRAINT TRIGGER platform_role_bindings_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.platform_role_bindings DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('platform');
CREATE TRIGGER platform_role_fits BEFORE INSERT OR UPDATE ON public.platform_role_bindings FOR EACH ROW EXECUTE FUNCTION require_role_fits('platform');
grant insert, select, update on platform_role_bindings to gatehouse_app;

create table policy_constraints (
  constraint_id uuid not null,
  version integer not null,
  key text not null,
  scope_type text not null,
  tenant_id uuid,
  project_id uuid,
  description text,
  actions text[] not null,
  effect text default 'deny'::text not null,
  condition jsonb not null,
  time_zone text not null,
  is_locked boolean not null,
  state text not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  reason text,
  replaced_at timestamp with time zone,
  replaced_by uuid,
  delete_reason text,
  constraint policy_constraints_pkey PRIMARY KEY (constraint_id, version),
  constraint policy_constraints_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint policy_constraints_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint policy_constraints_replaced_by_fkey FOREIGN KEY (replaced_by) REFERENCES users(id),
  constraint policy_constraints_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES organizations(id),
  constraint policy_constraints_actions_check CHECK (((cardinality(actions) >= 1) AND (cardinality(actions) <= 200))),
  constraint policy_constraints_condition_check CHECK ((jsonb_typeof(condition) = 'object'::text)),
  constraint policy_constraints_description_check CHECK (((length(description) >= 1) AND (length(description) <= 500))),
  constraint policy_constraints_effect_check CHECK ((effect = 'deny'::text)),
  constraint policy_constraints_end_whole CHECK (((delete_reason IS NULL) OR (replaced_at IS NOT NULL))),
  constraint policy_constraints_key_check CHECK (((key ~ '^[a-z][a-z0-9_.-]*$'::text) AND (length(key) <= 100))),
  constraint policy_constraints_scope CHECK (
CASE scope_type
    WHEN 'global'::text THEN (num_nonnulls(tenant_id, project_id) = 0)
    WHEN 'tenant'::text THEN ((tenant_id IS NOT NULL) AND (project_id IS NULL))
    ELSE ((project_id IS NOT NULL) AND (tenant_id IS NULL))
END),
  constraint policy_constraints_scope_type_check CHECK ((scope_type = ANY (ARRAY['global'::text, 'tenant'::text, 'project'::text]))),
  constraint policy_constraints_state_check CHECK ((state = ANY (ARRAY['active'::text, 'disabled'::text]))),
  constraint policy_constraints_time_zone_check CHECK (((length(time_zone) >= 1) AND (length(time_zone) <= 64))),
  constraint policy_constraints_version_check CHECK ((version > 0))
);
CREATE UNIQUE INDEX constraint_already_exists ON public.policy_constraints USING btree (key, scope_type, COALESCE(project_id, tenant_id)) NULLS NOT DISTINCT WHERE (replaced_at IS NULL);
CREATE INDEX policy_constraints_of_platform ON public.policy_constraints USING btree (key) WHERE ((replaced_at IS NULL) AND (scope_type = 'global'::text));
CREATE INDEX policy_constraints_of_project ON public.policy_constraints USING btree (project_id) WHERE (replaced_at IS NULL);
CREATE INDEX policy_constraints_of_tenant ON public.policy_constraints USING btree (tenant_id) WHERE (replaced_at IS NULL);
CREATE UNIQUE INDEX policy_constraints_one_current ON public.policy_constraints USING btree (constraint_id) WHERE (replaced_at IS NULL);
CREATE CONSTRAINT TRIGGER policy_constraints_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.policy_constraints DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('scoped');
grant insert, select, update on policy_constraints to gatehouse_app;

create table policy_definitions (
  key text not null,
  type text not null,
  purpose text not null,
  default_value jsonb,
  bounds jsonb default '{}'::jsonb not null,
  scopes text[] not null,
  direction text not null,
  constraint policy_definitions_pkey PRIMARY KEY (key),
  constraint policy_definitions_direction_check CHECK ((direction = ANY (ARRAY['global'::text, 'tighten_lower'::text, 'tighten_upper'::text, 'most_specific'::text]))),
  constraint policy_definitions_key_check CHECK ((key ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$'::text)),
  constraint policy_definitions_scopes_check CHECK ((scopes <@ ARRAY['global'::text, 'tenant'::text, 'project'::text])),
  constraint policy_definitions_type_check CHECK ((type = ANY (ARRAY['integer'::text, 'integer_or_null'::text, 'number'::text, 'boolean'::text, 'string_list'::text, 'scope_map'::text, 'choice'::text])))
);
grant select on policy_definitions to gatehouse_app;

create table policy_values (
  id uuid not null,
  key text not null,
  scope_type text not null,
  tenant_id uuid,
  project_id uuid,
  value jsonb not null,
  version integer not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  replaced_at timestamp with time zone,
  reason text,
  replaced_by uuid,
  constraint policy_values_pkey PRIMARY KEY (id),
  constraint policy_values_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint policy_values_key_fkey FOREIGN KEY (key) REFERENCES policy_definitions(key),
  constraint policy_values_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint policy_values_replaced_by_fkey FOREIGN KEY (replaced_by) REFERENCES users(id),
  constraint policy_values_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES organizations(id),
  constraint policy_values_scope CHECK (
CASE scope_type
    WHEN 'global'::text THEN (num_nonnulls(tenant_id, project_id) = 0)
    WHEN 'tenant'::text THEN ((tenant_id IS NOT NULL) AND (project_id IS NULL))
    ELSE ((project_id IS NOT NULL) AND (tenant_id IS NULL))
END),
  constraint policy_values_scope_type_check CHECK ((scope_type = ANY (ARRAY['global'::text, 'tenant'::text, 'project'::text]))),
  constraint policy_values_version_check CHECK ((version > 0))
);
CREATE INDEX policy_values_of_project ON public.policy_values USING btree (project_id) WHERE (replaced_at IS NULL);
CREATE INDEX policy_values_of_tenant ON public.policy_values USING btree (tenant_id) WHERE (replaced_at IS NULL);
CREATE UNIQUE INDEX policy_values_one_current ON public.policy_values USING btree (key, scope_type, COALESCE(project_id, tenant_id)) NULLS NOT DISTINCT WHERE (replaced_at IS NULL);
CREATE UNIQUE INDEX policy_values_version_once ON public.policy_values USING btree (key, scope_type, COALESCE(project_id, tenant_id), version) NULLS NOT DISTINCT;
CREATE CONSTRAINT TRIGGER policy_values_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.policy_values DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('scoped');
grant insert, select, update on policy_values to gatehouse_app;

create table project_memberships (
  id uuid not null,
  project_id uuid not null,
  user_id uuid not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  constraint project_memberships_pkey PRIMARY KEY (id),
  constraint project_memberships_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint project_memberships_deleted_by_fkey FOREIGN KEY (deleted_by) REFERENCES users(id),
  constraint project_memberships_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint user_not_found FOREIGN KEY (user_id) REFERENCES users(id),
  constraint project_memberships_end_whole CHECK (((deleted_at IS NULL) = (delete_reason IS NULL)))
);
CREATE UNIQUE INDEX member_already_exists ON public.project_memberships USING btree (project_id, user_id) WHERE (deleted_at IS NULL);
CREATE INDEX project_memberships_of_user ON public.project_memberships USING btree (user_id) WHERE (deleted_at IS NULL);
CREATE CONSTRAINT TRIGGER project_memberships_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.project_memberships DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('scoped');
grant insert, select, update on project_memberships to gatehouse_app;

create table project_role_bindings (
  id uuid not null,
  project_id uuid not null,
  principal_type text not null,
  principal_id uuid not null,
  role_version_id uuid not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  expires_at timestamp with time zone,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  role_definition_id uuid not null,
  service_account_id uuid generated always as (
CASE
    WHEN (principal_type = 'service_account'::text) THEN principal_id
    ELSE NULL::uuid
END) stored,
  user_id uuid generated always as (
CASE
    WHEN (principal_type = 'user'::text) THEN principal_id
    ELSE NULL::uuid
END) stored,
  constraint project_role_bindings_pkey PRIMARY KEY (id),
  constraint project_role_bindings_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint project_role_bindings_deleted_by_fkey FOREIGN KEY (deleted_by) REFERENCES users(id),
  constraint project_role_bindings_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint project_role_bindings_role_version_id_fkey FOREIGN KEY (role_version_id) REFERENCES role_definition_versions(id),
  constraint project_role_bindings_service_account FOREIGN KEY (service_account_id, project_id) REFERENCES service_accounts(id, project_id),
  constraint project_role_bindings_user FOREIGN KEY (user_id) REFERENCES users(id),
  constraint project_role_bindings_version FOREIGN KEY (role_version_id, role_definition_id) REFERENCES role_definition_versions(id, role_definition_id),
  constraint project_role_bindings_end_whole CHECK (((deleted_at IS NULL) = (delete_reason IS NULL))),
  constraint project_role_bindings_principal_type_check CHECK ((principal_type = ANY (ARRAY['user'::text, 'service_account'::text])))
);
CREATE UNIQUE INDEX project_role_bindings_one_per_role ON public.project_role_bindings USING btree (project_id, principal_type, principal_id, role_definition_id) WHERE (deleted_at IS NULL);
CREATE CONSTRAINT TRIGGER project_role_bindings_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.project_role_bindings DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('scoped');
CREATE TRIGGER project_role_fits BEFORE INSERT OR UPDATE ON public.project_role_bindings FOR EACH ROW EXECUTE FUNCTION require_role_fits('project');
grant insert, select, update on project_role_bindings to gatehouse_app;

create table projects (
  id uuid not null,
  org_id uuid not null,
  name text not null,
  slug text not null,
  state text default 'active'::text not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  constraint projects_pkey PRIMARY KEY (id),
  constraint project_already_exists UNIQUE (org_id, slug),
  constraint projects_of_org UNIQUE (id, org_id),
  constraint projects_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint projects_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
  constraint projects_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint projects_slug_check CHECK (((slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'::text) AND (length(slug) <= 63))),
  constraint projects_state_check CHECK ((state = ANY (ARRAY['active'::text, 'archived'::text])))
);
CREATE CONSTRAINT TRIGGER projects_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.projects DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('project');
CREATE CONSTRAINT TRIGGER projects_moved_move_epoch AFTER UPDATE ON public.projects DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.org_id IS DISTINCT FROM new.org_id)) EXECUTE FUNCTION move_epoch_of_row('platform');
grant insert, select, update on projects to gatehouse_app;

create table role_definition_versions (
  id uuid not null,
  role_definition_id uuid not null,
  version integer not null,
  created_at timestamp with time zone not null,
  created_by_user_id uuid,
  reason text,
  constraint role_definition_versions_pkey PRIMARY KEY (id),
  constraint role_definition_versions_of_definition UNIQUE (id, role_definition_id),
  constraint role_definition_versions_once UNIQUE (role_definition_id, version),
  constraint role_definition_versions_created_by_user_id_fkey FOREIGN KEY (created_by_user_id) REFERENCES users(id),
  constraint role_definition_versions_role_definition_id_fkey FOREIGN KEY (role_definition_id) REFERENCES role_definitions(id) DEFERRABLE INITIALLY DEFERRED,
  constraint role_definition_versions_version_check CHECK ((version > 0))
);
CREATE CONSTRAINT TRIGGER role_definition_versions_move_epoch AFTER UPDATE ON public.role_definition_versions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('version');
grant insert, select, update on role_definition_versions to gatehouse_app;

create table role_definitions (
  id uuid not null,
  scope_type text not null,
  tenant_id uuid,
  project_id uuid,
  scope_id uuid generated always as (COALESCE(project_id, tenant_id)) stored,
  name text not null,
  is_builtin boolean not null,
  is_assignable_to_service_accounts boolean default false not null,
  state text default 'active'::text not null,
  current_version_id uuid not null,
  created_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  deleted_by_user_id uuid,
  delete_reason text,
  description text,
  disable_mode text,
  disabled_at timestamp with time zone,
  disabled_by uuid,
  disable_reason text,
  is_disabled_by_platform boolean default false not null,
  grace_until timestamp with time zone,
  constraint role_definitions_pkey PRIMARY KEY (id),
  constraint role_definitions_current_version FOREIGN KEY (current_version_id, id) REFERENCES role_definition_versions(id, role_definition_id) DEFERRABLE INITIALLY DEFERRED,
  constraint role_definitions_deleted_by_user_id_fkey FOREIGN KEY (deleted_by_user_id) REFERENCES users(id),
  constraint role_definitions_disabled_by_fkey FOREIGN KEY (disabled_by) REFERENCES users(id),
  constraint role_definitions_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint role_definitions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES organizations(id),
  constraint role_definitions_builtin_stays CHECK (((NOT is_builtin) OR (deleted_at IS NULL))),
  constraint role_definitions_description_check CHECK (((length(description) >= 1) AND (length(description) <= 500))),
  constraint role_definitions_disable_mode_check CHECK ((disable_mode = ANY (ARRAY['block_new_only'::text, 'block_all_now'::text]))),
  constraint role_definitions_disabled_whole CHECK (
CASE state
    WHEN 'active'::text THEN ((num_nonnulls(disable_mode, disabled_at, disabled_by, disable_reason, grace_until) = 0) AND (NOT is_disabled_by_platform))
    ELSE ((NOT (disable_mode IS DISTINCT FROM 'block_new_only'::text)) = (grace_until IS NOT NULL))
END),
  constraint role_definitions_end_whole CHECK ((num_nulls(deleted_at, deleted_by_user_id, delete_reason) = ANY (ARRAY[0, 3]))),
  constraint role_definitions_name_check CHECK (((name ~ '^[a-z][a-z0-9_-]*$'::text) AND (length(name) <= 63))),
  constraint role_definitions_owner CHECK (
CASE
    WHEN is_builtin THEN ((tenant_id IS NULL) AND (project_id IS NULL))
    WHEN (scope_type = 'tenant'::text) THEN ((tenant_id IS NOT NULL) AND (project_id IS NULL))
    WHEN (scope_type = 'project'::text) THEN ((project_id IS NOT NULL) AND (tenant_id IS NULL))
    ELSE false
END),
  constraint role_definitions_scope_type_check CHECK ((scope_type = ANY (ARRAY['platform'::text, 'tenant'::text, 'project'::text]))),
  constraint role_definitions_service_accounts CHECK (((NOT is_assignable_to_service_accounts) OR (scope_type = 'project'::text))),
  constraint role_definitions_state_check CHECK ((state = ANY (ARRAY['active'::text, 'disabled'::text])))
);
CREATE UNIQUE INDEX role_already_exists ON public.role_definitions USING btree (scope_id, name) WHERE ((NOT is_builtin) AND (deleted_at IS NULL));
CREATE UNIQUE INDEX role_definitions_one_builtin ON public.role_definitions USING btree (name) WHERE is_builtin;
CREATE CONSTRAINT TRIGGER role_definitions_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.role_definitions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('scoped');
grant insert, select, update on role_definitions to gatehouse_app;

create table role_permissions (
  role_version_id uuid not null,
  permission_key text not null,
  effect text default 'allow'::text not null,
  constraint role_permissions_pkey PRIMARY KEY (role_version_id, permission_key),
  constraint role_permissions_role_version_id_fkey FOREIGN KEY (role_version_id) REFERENCES role_definition_versions(id),
  constraint role_permissions_effect_check CHECK ((effect = 'allow'::text)),
  constraint role_permissions_permission_key_check CHECK ((permission_key ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$'::text))
);
CREATE CONSTRAINT TRIGGER role_permissions_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.role_permissions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('role_version');
grant insert, select, update on role_permissions to gatehouse_app;

create table schema_migrations (
  name text not null,
  hash text not null,
  applied_at timestamp with time zone default now() not null,
  constraint schema_migrations_pkey PRIMARY KEY (name)
);
grant select on schema_migrations to gatehouse_app;

create table service_account_keys (
  id uuid not null,
  service_account_id uuid not null,
  salt bytea,
  secret_hash bytea,
  alg text,
  public_jwk jsonb,
  epoch integer not null,
  created_at timestamp with time zone not null,
  created_by uuid not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  revoked_by uuid,
  revoke_reason text,
  constraint service_account_keys_pkey PRIMARY KEY (id),
  constraint service_account_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint service_account_keys_revoked_by_fkey FOREIGN KEY (revoked_by) REFERENCES users(id),
  constraint service_account_keys_service_account_id_fkey FOREIGN KEY (service_account_id) REFERENCES service_accounts(id),
  constraint service_account_keys_alg_check CHECK ((alg = ANY (ARRAY['ES256'::text, 'EdDSA'::text, 'RS256'::text]))),
  constraint service_account_keys_epoch_check CHECK ((epoch > 0)),
  constraint service_account_keys_one_kind CHECK (((num_nonnulls(salt, secret_hash) = ANY (ARRAY[0, 2])) AND (num_nonnulls(alg, public_jwk) = ANY (ARRAY[0, 2])) AND ((salt IS NULL) <> (alg IS NULL)))),
  constraint service_account_keys_public_jwk_check CHECK (((jsonb_typeof(public_jwk) = 'object'::text) AND (NOT (public_jwk ?| ARRAY['d'::text, 'p'::text, 'q'::text, 'dp'::text, 'dq'::text, 'qi'::text, 'oth'::text, 'k'::text])))),
  constraint service_account_keys_revoked_whole CHECK ((num_nulls(revoked_at, revoked_by, revoke_reason) = ANY (ARRAY[0, 3]))),
  constraint service_account_keys_salt_check CHECK ((length(salt) = 16)),
  constraint service_account_keys_secret_hash_check CHECK ((length(secret_hash) = 32))
);
CREATE INDEX service_account_keys_of_account ON public.service_account_keys USING btree (service_account_id);
CREATE CONSTRAINT TRIGGER service_account_keys_gone_move_epoch AFTER DELETE ON public.service_account_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('service_account_key');
CREATE CONSTRAINT TRIGGER service_account_keys_move_epoch AFTER UPDATE ON public.service_account_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((((((((old.service_account_id IS DISTINCT FROM new.service_account_id) OR (old.salt IS DISTINCT FROM new.salt)) OR (old.secret_hash IS DISTINCT FROM new.secret_hash)) OR (old.alg IS DISTINCT FROM new.alg)) OR (old.public_jwk IS DISTINCT FROM new.public_jwk)) OR (old.epoch IS DISTINCT FROM new.epoch)) OR (old.expires_at IS DISTINCT FROM new.expires_at)) OR (old.revoked_at IS DISTINCT FROM new.revoked_at))) EXECUTE FUNCTION move_epoch_of_row('service_account_key');
grant insert, select, update on service_account_keys to gatehouse_app;

create table service_accounts (
  id uuid not null,
  org_id uuid not null,
  project_id uuid not null,
  name text not null,
  slug text not null,
  state text default 'active'::text not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  disabled_at timestamp with time zone,
  disabled_by uuid,
  disable_reason text,
  is_disabled_by_platform boolean default false not null,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  constraint service_accounts_pkey PRIMARY KEY (id),
  constraint service_accounts_in_project UNIQUE (id, project_id),
  constraint service_accounts_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint service_accounts_deleted_by_fkey FOREIGN KEY (deleted_by) REFERENCES users(id),
  constraint service_accounts_disabled_by_fkey FOREIGN KEY (disabled_by) REFERENCES users(id),
  constraint service_accounts_of_project FOREIGN KEY (project_id, org_id) REFERENCES projects(id, org_id),
  constraint service_accounts_disabled_whole CHECK (((num_nulls(disabled_at, disabled_by, disable_reason) = ANY (ARRAY[0, 3])) AND ((state <> 'disabled'::text) OR (disabled_at IS NOT NULL)) AND ((state <> 'active'::text) OR (disabled_at IS NULL)) AND ((disabled_at IS NOT NULL) OR (NOT is_disabled_by_platform)))),
  constraint service_accounts_end_whole CHECK (((num_nulls(deleted_at, deleted_by, delete_reason) = ANY (ARRAY[0, 3])) AND ((state = 'deleted'::text) = (deleted_at IS NOT NULL)))),
  constraint service_accounts_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint service_accounts_slug_check CHECK (((slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'::text) AND (length(slug) <= 63))),
  constraint service_accounts_state_check CHECK ((state = ANY (ARRAY['active'::text, 'disabled'::text, 'deleted'::text])))
);
CREATE UNIQUE INDEX service_account_already_exists ON public.service_accounts USING btree (project_id, slug) WHERE (deleted_at IS NULL);
CREATE CONSTRAINT TRIGGER service_accounts_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.service_accounts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('project');
grant insert, select, update on service_accounts to gatehouse_app;

create table shared_app_runtimes (
  id uuid not null,
  org_id uuid not null,
  app_slug text not null,
  app_version text not null,
  display_name text not null,
  operating_mode text default 'tenant_dedicated'::text not null,
  control_plane_scope text default 'tenant'::text not null,
  runtime_backend text not null,
  placement_intent jsonb default '{}'::jsonb not null,
  delegated_actions text[] default '{}'::text[] not null,
  eligible_project_ids uuid[] default '{}'::uuid[] not null,
  delegated_contribution_policy text default 'none'::text not null,
  version integer default 1 not null,
  state text default 'requested'::text not null,
  reported_state text,
  reported_message text,
  reported_sequence bigint default 0 not null,
  reported_at timestamp with time zone,
  members_sequence bigint default 0 not null,
  members_reported_at timestamp with time zone,
  cursor_version integer default 1 not null,
  created_at timestamp with time zone not null,
  created_by uuid not null,
  updated_at timestamp with time zone not null,
  disabled_at timestamp with time zone,
  disabled_by uuid,
  disable_reason text,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  constraint shared_app_runtimes_pkey PRIMARY KEY (id),
  constraint shared_app_runtimes_of_org UNIQUE (id, org_id),
  constraint shared_app_runtimes_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint shared_app_runtimes_deleted_by_fkey FOREIGN KEY (deleted_by) REFERENCES users(id),
  constraint shared_app_runtimes_disabled_by_fkey FOREIGN KEY (disabled_by) REFERENCES users(id),
  constraint shared_app_runtimes_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
  constraint shared_app_runtimes_app_slug_check CHECK (((app_slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'::text) AND (length(app_slug) <= 63))),
  constraint shared_app_runtimes_app_version_check CHECK (((length(app_version) >= 1) AND (length(app_version) <= 63))),
  constraint shared_app_runtimes_control_plane_scope_check CHECK ((control_plane_scope = 'tenant'::text)),
  constraint shared_app_runtimes_cursor_version_check CHECK ((cursor_version > 0)),
  constraint shared_app_runtimes_delegated_actions_check CHECK ((delegated_actions <@ ARRAY['attach'::text, 'detach'::text])),
  constraint shared_app_runtimes_delegated_contribution_policy_check CHECK ((delegated_contribution_policy = ANY (ARRAY['none'::text, 'tagged'::text, 'all'::text]))),
  constraint shared_app_runtimes_disabled_whole CHECK (((num_nulls(disabled_at, disabled_by, disable_reason) = ANY (ARRAY[0, 3])) AND ((state <> 'disabled'::text) OR (disabled_at IS NOT NULL)) AND ((disabled_at IS NULL) OR (state = ANY (ARRAY['disabled'::text, 'deleted'::text]))))),
  constraint shared_app_runtimes_display_name_check CHECK (((length(display_name) >= 1) AND (length(display_name) <= 100))),
  constraint shared_app_runtimes_eligible_project_ids_check CHECK ((cardinality(eligible_project_ids) <= 200)),
  constraint shared_app_runtimes_end_whole CHECK (((num_nulls(deleted_at, deleted_by, delete_reason) = ANY (ARRAY[0, 3])) AND ((state = 'deleted'::text) = (deleted_at IS NOT NULL)))),
  constraint shared_app_runtimes_members_sequence_check CHECK ((members_sequence >= 0)),
  constraint shared_app_runtimes_operating_mode_check CHECK ((operating_mode = 'tenant_dedicated'::text)),
  constraint shared_app_runtimes_placement_intent_check CHECK ((jsonb_typeof(placement_intent) = 'object'::text)),
  constraint shared_app_runtimes_reported_message_check CHECK ((length(reported_message) <= 500)),
  constraint shared_app_runtimes_reported_sequence_check CHECK ((reported_sequence >= 0)),
  constraint shared_app_runtimes_reported_state_check CHECK ((reported_state = ANY (ARRAY['provisioning'::text, 'running'::text, 'degraded'::text, 'failed'::text]))),
  constraint shared_app_runtimes_runtime_backend_check CHECK ((runtime_backend = ANY (ARRAY['slurm'::text, 'k8s'::text, 'ray'::text, 'bare_metal'::text]))),
  constraint shared_app_runtimes_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'provisioning'::text, 'running'::text, 'degraded'::text, 'failed'::text, 'disabled'::text, 'deleted'::text]))),
  constraint shared_app_runtimes_version_check CHECK ((version > 0))
);
CREATE INDEX shared_app_runtimes_of_org_by_id ON public.shared_app_runtimes USING btree (org_id, id);
CREATE UNIQUE INDEX shared_runtime_already_exists ON public.shared_app_runtimes USING btree (org_id, display_name) WHERE (deleted_at IS NULL);
CREATE CONSTRAINT TRIGGER shared_app_runtimes_gone_move_epoch AFTER INSERT OR DELETE ON public.shared_app_runtimes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('project');
CREATE CONSTRAINT TRIGGER shared_app_runtimes_move_epoch AFTER UPDATE ON public.shared_app_runtimes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((((old.org_id IS DISTINCT FROM new.org_id) OR ((old.state = 'disabled'::text) IS DISTINCT FROM (new.state = 'disabled'::text))) OR ((old.state = 'deleted'::text) IS DISTINCT FROM (new.state = 'deleted'::text))) OR (old.delegated_actions IS DISTINCT FROM new.delegated_actions)) OR (old.eligible_project_ids IS DISTINCT FROM new.eligible_project_ids))) EXECUTE FUNCTION move_epoch_of_row('project');
grant insert, select, update on shared_app_runtimes to gatehouse_app;

create table shared_runtime_attachments (
  id uuid not null,
  shared_runtime_id uuid not null,
  org_id uuid not null,
  project_id uuid not null,
  contribution_policy text not null,
  created_at timestamp with time zone not null,
  created_by_type text not null,
  created_by uuid not null,
  updated_at timestamp with time zone not null,
  detached_at timestamp with time zone,
  detached_by_type text,
  detached_by uuid,
  detach_reason text,
  constraint shared_runtime_attachments_pkey PRIMARY KEY (id),
  constraint shared_runtime_attachments_project FOREIGN KEY (project_id, org_id) REFERENCES projects(id, org_id),
  constraint shared_runtime_attachments_runtime FOREIGN KEY (shared_runtime_id, org_id) REFERENCES shared_app_runtimes(id, org_id),
  constraint shared_runtime_attachments_contribution_policy_check CHECK ((contribution_policy = ANY (ARRAY['none'::text, 'tagged'::text, 'all'::text]))),
  constraint shared_runtime_attachments_created_by_type_check CHECK ((created_by_type = ANY (ARRAY['user'::text, 'shared_runtime_operator'::text]))),
  constraint shared_runtime_attachments_detached_by_type_check CHECK ((detached_by_type = ANY (ARRAY['user'::text, 'shared_runtime_operator'::text, 'system'::text]))),
  constraint shared_runtime_attachments_end_whole CHECK ((num_nulls(detached_at, detached_by_type, detach_reason) = ANY (ARRAY[0, 3])))
);
CREATE UNIQUE INDEX attachment_already_exists ON public.shared_runtime_attachments USING btree (shared_runtime_id, project_id) WHERE (detached_at IS NULL);
CREATE INDEX shared_runtime_attachments_of_project ON public.shared_runtime_attachments USING btree (project_id) WHERE (detached_at IS NULL);
CREATE INDEX shared_runtime_attachments_of_runtime ON public.shared_runtime_attachments USING btree (shared_runtime_id, id);
CREATE CONSTRAINT TRIGGER shared_runtime_attachments_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.shared_runtime_attachments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('project');
grant insert, select, update on shared_runtime_attachments to gatehouse_app;

create table shared_runtime_credentials (
  id uuid not null,
  shared_runtime_id uuid not null,
  org_id uuid not null,
  name text not null,
  version integer not null,
  envelope jsonb,
  epoch integer not null,
  state text not null,
  created_at timestamp with time zone not null,
  created_by uuid not null,
  delivered_at timestamp with time zone,
  revoked_at timestamp with time zone,
  revoked_by uuid,
  revoke_reason text,
  constraint shared_runtime_credentials_pkey PRIMARY KEY (id),
  constraint shared_runtime_credentials_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint shared_runtime_credentials_revoked_by_fkey FOREIGN KEY (revoked_by) REFERENCES users(id),
  constraint shared_runtime_credentials_runtime FOREIGN KEY (shared_runtime_id, org_id) REFERENCES shared_app_runtimes(id, org_id),
  constraint shared_runtime_credentials_epoch_check CHECK ((epoch > 0)),
  constraint shared_runtime_credentials_name_check CHECK (((name ~ '^[a-z0-9]([a-z0-9_.-]*[a-z0-9])?$'::text) AND (length(name) <= 63))),
  constraint shared_runtime_credentials_state_check CHECK ((state = ANY (ARRAY['active'::text, 'delivered'::text, 'revoked'::text]))),
  constraint shared_runtime_credentials_states CHECK (((num_nulls(revoked_at, revoked_by, revoke_reason) = ANY (ARRAY[0, 3])) AND ((state = 'revoked'::text) = (revoked_at IS NOT NULL)) AND ((state = 'revoked'::text) = (envelope IS NULL)) AND ((state <> 'delivered'::text) OR (delivered_at IS NOT NULL)))),
  constraint shared_runtime_credentials_version_check CHECK ((version > 0))
);
CREATE INDEX shared_runtime_credentials_of_runtime ON public.shared_runtime_credentials USING btree (shared_runtime_id, id);
CREATE UNIQUE INDEX shared_runtime_credentials_one ON public.shared_runtime_credentials USING btree (shared_runtime_id, name) WHERE (state <> 'revoked'::text);
grant insert, select, update on shared_runtime_credentials to gatehouse_app;

create table shared_runtime_members (
  shared_runtime_id uuid not null,
  name text not null,
  role text not null,
  state text not null,
  allocation_id uuid,
  reported_at timestamp with time zone not null,
  constraint shared_runtime_members_pkey PRIMARY KEY (shared_runtime_id, name),
  constraint shared_runtime_members_allocation_id_fkey FOREIGN KEY (allocation_id) REFERENCES allocations(id),
  constraint shared_runtime_members_shared_runtime_id_fkey FOREIGN KEY (shared_runtime_id) REFERENCES shared_app_runtimes(id),
  constraint shared_runtime_members_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint shared_runtime_members_role_check CHECK (((length(role) >= 1) AND (length(role) <= 63))),
  constraint shared_runtime_members_state_check CHECK ((state = ANY (ARRAY['joining'::text, 'ready'::text, 'draining'::text, 'down'::text])))
);
grant delete, insert, select, update on shared_runtime_members to gatehouse_app;

create table shared_runtime_operator_credentials (
  id uuid not null,
  shared_runtime_id uuid not null,
  salt bytea not null,
  secret_hash bytea not null,
  epoch integer not null,
  created_at timestamp with time zone not null,
  created_by uuid not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  revoked_by uuid,
  revoke_reason text,
  constraint shared_runtime_operator_credentials_pkey PRIMARY KEY (id),
  constraint shared_runtime_operator_credentials_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint shared_runtime_operator_credentials_revoked_by_fkey FOREIGN KEY (revoked_by) REFERENCES users(id),
  constraint shared_runtime_operator_credentials_shared_runtime_id_fkey FOREIGN KEY (shared_runtime_id) REFERENCES shared_app_runtimes(id),
  constraint operator_credentials_revoked_whole CHECK ((num_nulls(revoked_at, revoked_by, revoke_reason) = ANY (ARRAY[0, 3]))),
  constraint shared_runtime_operator_credentials_epoch_check CHECK ((epoch > 0)),
  constraint shared_runtime_operator_credentials_salt_check CHECK ((length(salt) = 16)),
  constraint shared_runtime_operator_credentials_secret_hash_check CHECK ((length(secret_hash) = 32))
);
CREATE INDEX shared_runtime_operator_credentials_of_runtime ON public.shared_runtime_operator_credentials USING btree (shared_runtime_id);
CREATE CONSTRAINT TRIGGER operator_credentials_gone_move_epoch AFTER DELETE ON public.shared_runtime_operator_credentials DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('operator_credential');
CREATE CONSTRAINT TRIGGER operator_credentials_move_epoch AFTER UPDATE ON public.shared_runtime_operator_credentials DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((((((old.shared_runtime_id IS DISTINCT FROM new.shared_runtime_id) OR (old.salt IS DISTINCT FROM new.salt)) OR (old.secret_hash IS DISTINCT FROM new.secret_hash)) OR (old.epoch IS DISTINCT FROM new.epoch)) OR (old.expires_at IS DISTINCT FROM new.expires_at)) OR (old.revoked_at IS DISTINCT FROM new.revoked_at))) EXECUTE FUNCTION move_epoch_of_row('operator_credential');
grant insert, select, update on shared_runtime_operator_credentials to gatehouse_app;

create table signing_keys (
  kid text not null,
  alg text not null,
  public_jwk jsonb,
  custody text not null,
  envelope jsonb,
  transit_name text,
  transit_version integer,
  envelope_key_id text,
  epoch integer default 1 not null,
  state text not null,
  created_at timestamp with time zone not null,
  activated_at timestamp with time zone,
  grace_until timestamp with time zone,
  ended_at timestamp with time zone,
  ended_by uuid,
  end_reason text,
  constraint signing_keys_pkey PRIMARY KEY (kid),
  constraint signing_keys_ended_by_fkey FOREIGN KEY (ended_by) REFERENCES users(id),
  constraint signing_keys_alg_check CHECK ((alg = ANY (ARRAY['ES256'::text, 'EdDSA'::text, 'HS256'::text]))),
  constraint signing_keys_custody CHECK (
CASE custody
    WHEN 'envelope'::text THEN ((alg <> 'HS256'::text) AND (envelope IS NOT NULL) AND (num_nonnulls(transit_name, transit_version, envelope_key_id) = 0))
    WHEN 'transit'::text THEN ((alg <> 'HS256'::text) AND (num_nonnulls(transit_name, transit_version) = 2) AND (num_nonnulls(envelope, envelope_key_id) = 0))
    ELSE ((alg = 'HS256'::text) AND (envelope_key_id IS NOT NULL) AND (num_nonnulls(envelope, transit_name, transit_version) = 0))
END),
  constraint signing_keys_custody_check CHECK ((custody = ANY (ARRAY['envelope'::text, 'transit'::text, 'envelope_key'::text]))),
  constraint signing_keys_epoch_check CHECK ((epoch > 0)),
  constraint signing_keys_kid_check CHECK ((kid ~ '^[A-Za-z0-9_-]{8,128}$'::text)),
  constraint signing_keys_public CHECK (((alg = 'HS256'::text) = (public_jwk IS NULL))),
  constraint signing_keys_state_check CHECK ((state = ANY (ARRAY['staged'::text, 'active'::text, 'grace'::text, 'retired'::text, 'revoked'::text]))),
  constraint signing_keys_states CHECK (
CASE state
    WHEN 'staged'::text THEN (num_nonnulls(activated_at, grace_until, ended_at) = 0)
    WHEN 'active'::text THEN ((activated_at IS NOT NULL) AND (num_nonnulls(grace_until, ended_at) = 0))
    WHEN 'grace'::text THEN ((activated_at IS NOT NULL) AND (grace_until IS NOT NULL) AND (ended_at IS NULL))
    ELSE (ended_at IS NOT NULL)
END)
);
CREATE UNIQUE INDEX signing_keys_one_active ON public.signing_keys USING btree ((true)) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX signing_keys_one_staged ON public.signing_keys USING btree ((true)) WHERE (state = 'staged'::text);
CREATE CONSTRAINT TRIGGER signing_keys_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.signing_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('platform');
grant insert, select, update on signing_keys to gatehouse_app;

create table ssh_public_keys (
  id uuid not null,
  user_id uuid,
  org_id uuid,
  project_id uuid,
  name text not null,
  key_type text not null,
  bits integer not null,
  blob text not null,
  fingerprint text not null,
  created_at timestamp with time zone not null,
  created_by_type text not null,
  created_by uuid not null,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  constraint ssh_public_keys_pkey PRIMARY KEY (id),
  constraint ssh_public_keys_of_project FOREIGN KEY (project_id, org_id) REFERENCES projects(id, org_id),
  constraint ssh_public_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint ssh_public_keys_bits_check CHECK (((bits >= 256) AND (bits <= 8192))),
  constraint ssh_public_keys_blob_check CHECK (((blob ~ '^[A-Za-z0-9+/]+={0,2}$'::text) AND ((length(blob) >= 60) AND (length(blob) <= 4096)))),
  constraint ssh_public_keys_created_by_type_check CHECK ((created_by_type = ANY (ARRAY['user'::text, 'service_account'::text]))),
  constraint ssh_public_keys_end_whole CHECK ((num_nulls(deleted_at, deleted_by, delete_reason) = ANY (ARRAY[0, 3]))),
  constraint ssh_public_keys_fingerprint_check CHECK ((fingerprint ~ '^SHA256:[A-Za-z0-9+/]{43}$'::text)),
  constraint ssh_public_keys_key_type_check CHECK ((key_type = ANY (ARRAY['ssh-ed25519'::text, 'ssh-rsa'::text, 'ecdsa-sha2-nistp256'::text, 'ecdsa-sha2-nistp384'::text, 'ecdsa-sha2-nistp521'::text, 'sk-ssh-ed25519@openssh.com'::text, 'sk-ecdsa-sha2-nistp256@openssh.com'::text]))),
  constraint ssh_public_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint ssh_public_keys_owner CHECK (((num_nonnulls(user_id, project_id) = 1) AND ((project_id IS NULL) = (org_id IS NULL))))
);
CREATE UNIQUE INDEX ssh_key_already_exists ON public.ssh_public_keys USING btree (user_id, fingerprint) WHERE ((deleted_at IS NULL) AND (user_id IS NOT NULL));
CREATE UNIQUE INDEX ssh_key_already_exists_in_project ON public.ssh_public_keys USING btree (project_id, fingerprint) WHERE ((deleted_at IS NULL) AND (project_id IS NOT NULL));
grant insert, select, update on ssh_public_keys to gatehouse_app;

create table ssh_sessions (
  id uuid not null,
  node_id uuid not null,
  session_id text not null,
  allocation_id uuid not null,
  fingerprint text not null,
  user_ids uuid[] not null,
  grant_ids uuid[] not null,
  source_ip text,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  end_cause text,
  processes_ended integer,
  may_have_left_processes boolean,
  constraint ssh_sessions_pkey PRIMARY KEY (id),
  constraint ssh_sessions_allocation_id_fkey FOREIGN KEY (allocation_id) REFERENCES allocations(id),
  constraint ssh_sessions_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint ssh_sessions_end_cause_check CHECK ((end_cause = ANY (ARRAY['closed'::text, 'key_removed'::text, 'key_expired'::text, 'account_removed'::text, 'lost'::text]))),
  constraint ssh_sessions_end_whole CHECK (((num_nulls(ended_at, end_cause) = ANY (ARRAY[0, 2])) AND ((ended_at IS NOT NULL) OR (num_nonnulls(processes_ended, may_have_left_processes) = 0)))),
  constraint ssh_sessions_fingerprint_check CHECK ((fingerprint ~ '^SHA256:[A-Za-z0-9+/]{43}$'::text)),
  constraint ssh_sessions_processes_ended_check CHECK ((processes_ended >= 0)),
  constraint ssh_sessions_session_id_check CHECK ((session_id ~ '^[A-Za-z0-9._-]{1,100}$'::text)),
  constraint ssh_sessions_source_ip_check CHECK ((length(source_ip) <= 45)),
  constraint ssh_sessions_told_of CHECK ((num_nonnulls(started_at, ended_at) > 0))
);
CREATE INDEX ssh_sessions_of_allocation ON public.ssh_sessions USING btree (allocation_id, id);
CREATE UNIQUE INDEX ssh_sessions_one ON public.ssh_sessions USING btree (node_id, session_id);
grant insert, select, update on ssh_sessions to gatehouse_app;

create table task_signers (
  kid text not null,
  version integer not null,
  certificate text not null,
  envelope jsonb not null,
  epoch integer not null,
  state text not null,
  created_at timestamp with time zone not null,
  activated_at timestamp with time zone,
  grace_until timestamp with time zone,
  ended_at timestamp with time zone,
  ended_by uuid,
  end_reason text,
  constraint task_signers_pkey PRIMARY KEY (kid),
  constraint task_signers_version_key UNIQUE (version),
  constraint task_signers_ended_by_fkey FOREIGN KEY (ended_by) REFERENCES users(id),
  constraint task_signers_epoch_check CHECK ((epoch > 0)),
  constraint task_signers_kid_check CHECK ((kid ~ '^[A-Za-z0-9_-]{43}$'::text)),
  constraint task_signers_state_check CHECK ((state = ANY (ARRAY['staged'::text, 'active'::text, 'grace'::text, 'retired'::text, 'revoked'::text]))),
  constraint task_signers_states CHECK (
CASE state
    WHEN 'staged'::text THEN (num_nonnulls(activated_at, grace_until, ended_at) = 0)
    WHEN 'active'::text THEN ((activated_at IS NOT NULL) AND (num_nonnulls(grace_until, ended_at) = 0))
    WHEN 'grace'::text THEN ((activated_at IS NOT NULL) AND (grace_until IS NOT NULL) AND (ended_at IS NULL))
    ELSE (ended_at IS NOT NULL)
END),
  constraint task_signers_version_check CHECK ((version > 0))
);
CREATE UNIQUE INDEX task_signers_one_active ON public.task_signers USING btree ((true)) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX task_signers_one_staged ON public.task_signers USING btree ((true)) WHERE (state = 'staged'::text);
grant insert, select, update on task_signers to gatehouse_app;

create table tenant_memberships (
  id uuid not null,
  tenant_id uuid not null,
  user_id uuid not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  constraint tenant_memberships_pkey PRIMARY KEY (id),
  constraint tenant_memberships_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint tenant_memberships_deleted_by_fkey FOREIGN KEY (deleted_by) REFERENCES users(id),
  constraint tenant_memberships_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES organizations(id),
  constraint user_not_found FOREIGN KEY (user_id) REFERENCES users(id),
  constraint tenant_memberships_end_whole CHECK (((deleted_at IS NULL) = (delete_reason IS NULL)))
);
CREATE INDEX tenant_memberships_of_user ON public.tenant_memberships USING btree (user_id) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX tenant_memberships_one_active ON public.tenant_memberships USING btree (tenant_id, user_id) WHERE (deleted_at IS NULL);
CREATE CONSTRAINT TRIGGER tenant_memberships_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.tenant_memberships DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('scoped');
grant insert, select, update on tenant_memberships to gatehouse_app;

create table tenant_role_bindings (
  id uuid not null,
  tenant_id uuid not null,
  principal_type text not null,
  principal_id uuid not null,
  role_version_id uuid not null,
  created_at timestamp with time zone not null,
  created_by uuid,
  expires_at timestamp with time zone,
  deleted_at timestamp with time zone,
  deleted_by uuid,
  delete_reason text,
  role_definition_id uuid not null,
  constraint tenant_role_bindings_pkey PRIMARY KEY (id),
  constraint tenant_role_bindings_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint tenant_role_bindings_deleted_by_fkey FOREIGN KEY (deleted_by) REFERENCES users(id),
  constraint tenant_role_bindings_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES users(id),
  constraint tenant_role_bindings_role_version_id_fkey FOREIGN KEY (role_version_id) REFERENCES role_definition_versions(id),
  constraint tenant_role_bindings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES organizations(id),
  constraint tenant_role_bindings_version FOREIGN KEY (role_version_id, role_definition_id) REFERENCES role_definition_versions(id, role_definition_id),
  constraint tenant_role_bindings_end_whole CHECK (((deleted_at IS NULL) = (delete_reason IS NULL))),
  constraint tenant_role_bindings_principal_type_check CHECK ((principal_type = 'user'::text))
);
CREATE UNIQUE INDEX tenant_role_bindings_one_per_role ON public.tenant_role_bindings USING btree (tenant_id, principal_type, principal_id, role_definition_id) WHERE (deleted_at IS NULL);
CREATE CONSTRAINT TRIGGER tenant_role_bindings_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.tenant_role_bindings DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('scoped');
CREATE TRIGGER tenant_role_fits BEFORE INSERT OR UPDATE ON public.tenant_role_bindings FOR EACH ROW EXECUTE FUNCTION require_role_fits('tenant');
grant insert, select, update on tenant_role_bindings to gatehouse_app;

create table token_cutoffs (
  id uuid not null,
  subject_type text not null,
  subject_id uuid,
  org_id uuid,
  issued_before timestamp with time zone not null,
  until_number bigint,
  created_at timestamp with time zone not null,
  created_by text not null,
  reason text not null,
  constraint token_cutoffs_pkey PRIMARY KEY (id),
  constraint token_cutoffs_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
  constraint token_cutoffs_subject CHECK ((((subject_type = 'platform'::text) = (subject_id IS NULL)) AND ((subject_type = 'platform'::text) = (org_id IS NULL)))),
  constraint token_cutoffs_subject_type_check CHECK ((subject_type = ANY (ARRAY['platform'::text, 'organization'::text, 'project'::text, 'actor'::text, 'credential'::text]))),
  constraint token_cutoffs_until_number_check CHECK ((until_number >= 0))
);
CREATE INDEX token_cutoffs_of_subject ON public.token_cutoffs USING btree (subject_id, subject_type, issued_before);
CREATE CONSTRAINT TRIGGER token_cutoffs_move_epoch AFTER INSERT OR DELETE OR UPDATE ON public.token_cutoffs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('project');
grant insert, select, update on token_cutoffs to gatehouse_app;

create table used_proofs (
  kind text not null,
  subject text not null,
  jti_hash bytea not null,
  expires_at timestamp with time zone not null,
  constraint used_proofs_pkey PRIMARY KEY (kind, subject, jti_hash),
  constraint used_proofs_jti_hash_check CHECK ((length(jti_hash) = 32)),
  constraint used_proofs_kind_check CHECK ((kind = ANY (ARRAY['client_assertion'::text, 'dpop'::text]))),
  constraint used_proofs_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 64)))
);
CREATE INDEX used_proofs_by_end ON public.used_proofs USING btree (expires_at);
grant delete, insert, select on used_proofs to gatehouse_app;

create table users (
  id uuid not null,
  username text not null,
  email text,
  email_verified boolean default false not null,
  oidc_issuer text not null,
  oidc_subject text not null,
  role text default 'user'::text not null,
  is_seeded boolean default false not null,
  created_at timestamp with time zone not null,
  disabled_at timestamp with time zone,
  disabled_by uuid,
  disable_reason text,
  address_said_at timestamp with time zone,
  constraint users_pkey PRIMARY KEY (id),
  constraint users_one_per_subject UNIQUE (oidc_issuer, oidc_subject),
  constraint users_disabled_by_fkey FOREIGN KEY (disabled_by) REFERENCES users(id),
  constraint users_disabled_whole CHECK ((num_nulls(disabled_at, disabled_by, disable_reason) = ANY (ARRAY[0, 3]))),
  constraint users_email_check CHECK (((length(email) >= 3) AND (length(email) <= 320))),
  constraint users_oidc_subject_check CHECK (((length(oidc_subject) >= 1) AND (length(oidc_subject) <= 255))),
  constraint users_role_check CHECK ((role = ANY (ARRAY['user'::text, 'admin'::text]))),
  constraint users_username_check CHECK (((length(username) >= 1) AND (length(username) <= 255)))
);
CREATE INDEX users_by_address ON public.users USING btree (oidc_issuer, lower((email COLLATE "C"))) WHERE email_verified;
CREATE CONSTRAINT TRIGGER users_gone_move_epoch AFTER DELETE ON public.users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_epoch_of_row('platform');
CREATE CONSTRAINT TRIGGER users_move_epoch AFTER UPDATE ON public.users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((((((old.disabled_at IS DISTINCT FROM new.disabled_at) OR (old.role IS DISTINCT FROM new.role)) OR (old.oidc_issuer IS DISTINCT FROM new.oidc_issuer)) OR (old.oidc_subject IS DISTINCT FROM new.oidc_subject)) OR (old.email IS DISTINCT FROM new.email)) OR (old.email_verified IS DISTINCT FROM new.email_verified))) EXECUTE FUNCTION move_epoch_of_row('platform');
grant insert, select, update on users to gatehouse_app;

create table wrapped_deliveries (
  id uuid not null,
  kind text not null,
  subject_id uuid not null,
  org_id uuid not null,
  project_id uuid,
  requester_type text not null,
  requester_id uuid not null,
  token_hash bytea not null,
  epoch integer not null,
  created_at timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  state text default 'waiting'::text not null,
  state_since timestamp with time zone not null,
  constraint wrapped_deliveries_pkey PRIMARY KEY (id),
  constraint wrapped_deliveries_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
  constraint wrapped_deliveries_check CHECK ((ends_at > created_at)),
  constraint wrapped_deliveries_epoch_check CHECK ((epoch > 0)),
  constraint wrapped_deliveries_kind_check CHECK ((kind = 'shared_runtime_credential'::text)),
  constraint wrapped_deliveries_requester_type_check CHECK ((requester_type = ANY (ARRAY['user'::text, 'service_account'::text, 'shared_runtime_operator'::text, 'workload'::text]))),
  constraint wrapped_deliveries_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'opened'::text, 'revoked'::text]))),
  constraint wrapped_deliveries_token_hash_check CHECK ((length(token_hash) = 32))
);
CREATE INDEX wrapped_deliveries_by_end ON public.wrapped_deliveries USING btree (ends_at);
CREATE UNIQUE INDEX wrapped_deliveries_by_token ON public.wrapped_deliveries USING btree (token_hash);
CREATE INDEX wrapped_deliveries_waiting ON public.wrapped_deliveries USING btree (subject_id, ends_at) WHERE (state = 'waiting'::text);
CREATE INDEX wrapped_deliveries_waiting_for ON public.wrapped_deliveries USING btree (requester_id, ends_at) WHERE (state = 'waiting'::text);
grant delete, insert, select, update on wrapped_deliveries to gatehouse_app;

CREATE OR REPLACE FUNCTION public.epoch_of_row(kind text, changed jsonb)
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(
    case kind
      when 'organization' then (changed ->> 'id')::uuid
      when 'project' then (changed ->> 'org_id')::uuid
      when 'scoped' then coalesce(
        (changed ->> 'tenant_id')::uuid,
        (select p.org_id from projects p where p.id = (changed ->> 'project_id')::uuid))
      when 'version' then (
        select coalesce(d.tenant_id, (select p.org_id from projects p where p.id = d.project_id))
          from role_definitions d where d.id = (changed ->> 'role_definition_id')::uuid)
      when 'role_version' then (
        select coalesce(d.tenant_id, (select p.org_id from projects p where p.id = d.project_id))
          from role_definition_versions v join role_definitions d on d.id = v.role_definition_id
         where v.id = (changed ->> 'role_version_id')::uuid)
      when 'service_account_key' then (
        select s.org_id from service_accounts s where s.id = (changed ->> 'service_account_id')::uuid)
      when 'operator_credential' then (
        select r.org_id from shared_app_runtimes r where r.id = (changed ->> 'shared_runtime_id')::uuid)
    end,
    -- What lies in no tenant concerns the platform.
    '00000000-0000-0000-0000-000000000000')
$function$;

CREATE OR REPLACE FUNCTION public.move_epoch(scope uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  moved text := coalesce(current_setting('gatehouse.moved', true), '');
begin
  if position(scope::text in moved) > 0 then return; end if;
  insert into epochs as e (id, value, stamp) values (scope, 1, gen_random_uuid())
    on conflict (id) do update set value = e.value + 1, stamp = gen_random_uuid();
  perform set_config('gatehouse.moved', moved || scope::text, true);
end $function$;

CREATE OR REPLACE FUNCTION public.move_epoch_of_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' and to_jsonb(old) = to_jsonb(new) then return null; end if;
  if tg_op <> 'INSERT' then perform move_epoch(epoch_of_row(tg_argv[0], to_jsonb(old))); end if;
  if tg_op <> 'DELETE' then perform move_epoch(epoch_of_row(tg_argv[0], to_jsonb(new))); end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.require_role_fits()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  -- The three tables differ in their columns, so the rows are read as JSON.
  tier text := tg_argv[0];
  given text[] := '{tenant_id,project_id,principal_type,principal_id,role_definition_id,role_version_id,expires_at}';
  after jsonb := to_jsonb(new);
  before jsonb := case when tg_op = 'UPDATE' then to_jsonb(old) else '{}' end;
  scope uuid := (after ->> (tier || '_id'))::uuid;
  role role_definitions;
  refusal text;
begin
  if tier = 'platform' then
    select * into role from role_definitions where id = (after ->> 'role_definition_id')::uuid;
  else
    select d.* into role
      from role_definition_versions v join role_definitions d on d.id = v.role_definition_id
     where v.id = (after ->> 'role_version_id')::uuid;
    -- The role of a binding is that of its version, whoever writes it.
    new.role_definition_id := role.id;
    after := to_jsonb(new);
  end if;
  -- Nothing is given by an update that ends a binding or leaves it as it is. One that brings it back gives it anew.
  if tg_op = 'UPDATE' and (before ->> 'deleted_at' is null or after ->> 'deleted_at' is not null)
     and not exists (select from unnest(given) as name where before -> name is distinct from after -> name) then
    return new;
  end if;
  -- Neither ever changes, so this holds of history too.
  if role.scope_type is distinct from tier then
    refusal := 'the role is not of this tier';
  elsif not role.is_builtin and role.scope_id is distinct from scope then
    refusal := 'the role belongs to another scope';
  -- What has ended gives nothing, whatever has become of its role since.
  elsif new.deleted_at is null then
    if role.deleted_at is not null then
      refusal := 'the role has ended';
    elsif role.state <> 'active' then
      refusal := 'the role is disabled';
    elsif new.principal_type = 'service_account' and not role.is_assignable_to_service_accounts then
      refusal := 'the role is not for service accounts';
    elsif role.is_builtin and role.name like '%\_owner' and after ->> 'expires_at' is not null then
      refusal := 'an owner has no end';
    end if;
  end if;
  if refusal is not null then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = refusal;
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.wake_node()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('gatehouse_node_tasks', new.node_id::text);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.wake_retired_node()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('gatehouse_node_tasks', new.id::text);
  return null;
end $function$;
