-- Runtimes that a tenant owns and its projects share, and who operates them.

-- room: task-signers takes task_signers
-- room: node-tasks takes node_tasks

-- room: shared-runtimes
create table shared_app_runtimes (
  id                   uuid primary key,
  org_id               uuid not null references organizations,
  app_slug             text not null check (app_slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' and length(app_slug) <= 63),
  app_version          text not null check (length(app_version) between 1 and 63),
  display_name         text not null check (length(display_name) between 1 and 100),
  operating_mode       text not null default 'tenant_dedicated' check (operating_mode = 'tenant_dedicated'),
  control_plane_scope  text not null default 'tenant' check (control_plane_scope = 'tenant'),
  runtime_backend      text not null check (runtime_backend in ('slurm', 'k8s', 'ray', 'bare_metal')),
  placement_intent     jsonb not null default '{}' check (jsonb_typeof(placement_intent) = 'object'),
  delegated_actions    text[] not null default '{}' check (delegated_actions <@ array['attach', 'detach']),
  eligible_project_ids uuid[] not null default '{}' check (cardinality(eligible_project_ids) <= 200),
  -- The most that its operator may say for a project that it attaches by itself.
  delegated_contribution_policy text not null default 'none' check (delegated_contribution_policy in ('none', 'tagged', 'all')),
  version              integer not null default 1 check (version > 0),
  state                text not null default 'requested'
    check (state in ('requested', 'provisioning', 'running', 'degraded', 'failed', 'disabled', 'deleted')),
  -- What the operator last said of it, in the order in which he said it.
  reported_state       text check (reported_state in ('provisioning', 'running', 'degraded', 'failed')),
  reported_message     text check (length(reported_message) <= 500),
  reported_sequence    bigint not null default 0 check (reported_sequence >= 0),
  reported_at          timestamptz,
  members_sequence     bigint not null default 0 check (members_sequence >= 0),
  members_reported_at  timestamptz,
  -- Counts what ends cursors of its operator: other projects or contributions, that it was disabled, a credential revoked.
  cursor_version       integer not null default 1 check (cursor_version > 0),
  created_at           timestamptz not null,
  created_by           uuid not null references users,
  updated_at           timestamptz not null,
  disabled_at          timestamptz,
  disabled_by          uuid references users,
  disable_reason       text,
  deleted_at           timestamptz,
  deleted_by           uuid references users,
  delete_reason        text,
  constraint shared_app_runtimes_of_org unique (id, org_id),
  constraint shared_app_runtimes_disabled_whole check (
    num_nulls(disabled_at, disabled_by, disable_reason) in (0, 3) and (state <> 'disabled' or disabled_at is not null)
    and (disabled_at is null or state in ('disabled', 'deleted'))),
  constraint shared_app_runtimes_end_whole check (
    num_nulls(deleted_at, deleted_by, delete_reason) in (0, 3) and (state = 'deleted') = (deleted_at is not null))
);
create index shared_app_runtimes_of_org_by_id on shared_app_runtimes (org_id, id);
create unique index shared_runtime_already_exists on shared_app_runtimes (org_id, display_name) where deleted_at is null;

-- room: shared-runtimes
create table shared_runtime_attachments (
  id                   uuid primary key,
  shared_runtime_id    uuid not null,
  org_id               uuid not null,
  project_id           uuid not null,
  contribution_policy  text not null check (contribution_policy in ('none', 'tagged', 'all')),
  created_at           timestamptz not null,
  created_by_type      text not null check (created_by_type in ('user', 'shared_runtime_operator')),
  created_by           uuid not null,
  updated_at           timestamptz not null,
  detached_at          timestamptz,
  detached_by_type     text check (detached_by_type in ('user', 'shared_runtime_operator', 'system')),
  detached_by          uuid,
  detach_reason        text,
  -- Of the same tenant, both of them: the table itself keeps tenants apart.
  constraint shared_runtime_attachments_runtime foreign key (shared_runtime_id, org_id) references shared_app_runtimes (id, org_id),
  constraint shared_runtime_attachments_project foreign key (project_id, org_id) references projects (id, org_id),
  constraint shared_runtime_attachments_end_whole check (num_nulls(detached_at, detached_by_type, detach_reason) in (0, 3))
);
create unique index attachment_already_exists on shared_runtime_attachments (shared_runtime_id, project_id) where detached_at is null;
create index shared_runtime_attachments_of_runtime on shared_runtime_attachments (shared_runtime_id, id);
create index shared_runtime_attachments_of_project on shared_runtime_attachments (project_id) where detached_at is null;

-- room: shared-runtimes
create table shared_runtime_members (
  shared_runtime_id  uuid not null references shared_app_runtimes,
  name               text not null check (length(name) between 1 and 100),
  role               text not null check (length(role) between 1 and 63),
  state              text not null check (state in ('joining', 'ready', 'draining', 'down')),
  allocation_id      uuid references allocations,
  reported_at        timestamptz not null,
  primary key (shared_runtime_id, name)
);

-- room: operator-credentials
create table shared_runtime_operator_credentials (
  -- Public: its holder sends it along with the secret.
  id                 uuid primary key,
  shared_runtime_id  uuid not null references shared_app_runtimes,
  salt               bytea not null check (length(salt) = 16),
  secret_hash        bytea not null check (length(secret_hash) = 32),
  epoch              integer not null check (epoch > 0),
  created_at         timestamptz not null,
  created_by         uuid not null references users,
  expires_at         timestamptz,
  last_used_at       timestamptz,
  revoked_at         timestamptz,
  revoked_by         uuid references users,
  revoke_reason      text,
  constraint operator_credentials_revoked_whole check (num_nulls(revoked_at, revoked_by, revoke_reason) in (0, 3))
);
create index shared_runtime_operator_credentials_of_runtime on shared_runtime_operator_credentials (shared_runtime_id);

-- Secrets that people of the tenant leave for one runtime; nobody reads them back.
-- room: runtime-credentials
create table shared_runtime_credentials (
  id                 uuid primary key,
  shared_runtime_id  uuid not null,
  org_id             uuid not null,
  name               text not null check (name ~ '^[a-z0-9]([a-z0-9_.-]*[a-z0-9])?$' and length(name) <= 63),
  version            integer not null check (version > 0),
  -- Bound to the id, the tenant and the runtime. Gone when it is revoked or replaced.
  envelope           jsonb,
  epoch              integer not null check (epoch > 0),
  state              text not null check (state in ('active', 'delivered', 'revoked')),
  created_at         timestamptz not null,
  created_by         uuid not null references users,
  delivered_at       timestamptz,
  revoked_at         timestamptz,
  revoked_by         uuid references users,
  revoke_reason      text,
  constraint shared_runtime_credentials_runtime foreign key (shared_runtime_id, org_id) references shared_app_runtimes (id, org_id),
  constraint shared_runtime_credentials_states check (
    num_nulls(revoked_at, revoked_by, revoke_reason) in (0, 3) and (state = 'revoked') = (revoked_at is not null)
    and (state = 'revoked') = (envelope is null) and (state <> 'delivered' or delivered_at is not null))
);
create unique index shared_runtime_credentials_one on shared_runtime_credentials (shared_runtime_id, name) where state <> 'revoked';
create index shared_runtime_credentials_of_runtime on shared_runtime_credentials (shared_runtime_id, id);

-- A secret on its way: whoever opens it first has it, and nobody else.
-- room: deliveries
create table wrapped_deliveries (
  id              uuid primary key,
  kind            text not null check (kind in ('shared_runtime_credential')),
  subject_id      uuid not null,
  org_id          uuid not null references organizations,
  project_id      uuid,
  -- To whom it was promised; nobody else opens it.
  requester_type  text not null check (requester_type in ('user', 'service_account', 'shared_runtime_operator', 'workload')),
  requester_id    uuid not null,
  token_hash      bytea not null check (length(token_hash) = 32),
  epoch           integer not null check (epoch > 0),
  created_at      timestamptz not null,
  ends_at         timestamptz not null check (ends_at > created_at),
  -- One that still waits after its end has expired: nobody writes that.
  state           text not null default 'waiting' check (state in ('waiting', 'opened', 'revoked')),
  state_since     timestamptz not null
);
create unique index wrapped_deliveries_by_token on wrapped_deliveries (token_hash);
-- With the end, so that what is over is not looked at, however much of it there is.
create index wrapped_deliveries_waiting on wrapped_deliveries (subject_id, ends_at) where state = 'waiting';
create index wrapped_deliveries_waiting_for on wrapped_deliveries (requester_id, ends_at) where state = 'waiting';
create index wrapped_deliveries_by_end on wrapped_deliveries (ends_at);

alter table allocations add constraint allocations_shared_runtime foreign key (shared_runtime_id, org_id) references shared_app_runtimes (id, org_id);
create index allocations_of_runtime on allocations (shared_runtime_id) where shared_runtime_id is not null;

create or replace function epoch_of_row(kind text, changed jsonb) returns uuid language sql stable as $$
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
$$;

-- What it reports of itself changes no right.
create constraint trigger shared_app_runtimes_move_epoch after update on shared_app_runtimes deferrable initially deferred
  for each row when (
    (old.org_id, old.state = 'disabled', old.state = 'deleted', old.delegated_actions, old.eligible_project_ids)
    is distinct from (new.org_id, new.state = 'disabled', new.state = 'deleted', new.delegated_actions, new.eligible_project_ids))
  execute function move_epoch_of_row('project');
create constraint trigger shared_app_runtimes_gone_move_epoch after insert or delete on shared_app_runtimes deferrable initially deferred
  for each row execute function move_epoch_of_row('project');
create constraint trigger shared_runtime_attachments_move_epoch after insert or update or delete on shared_runtime_attachments
  deferrable initially deferred for each row execute function move_epoch_of_row('project');
-- Nobody keeps that a credential is unknown, and that it was used changes nothing.
create constraint trigger operator_credentials_move_epoch after update on shared_runtime_operator_credentials deferrable initially deferred
  for each row when (
    (old.shared_runtime_id, old.salt, old.secret_hash, old.epoch, old.expires_at, old.revoked_at)
    is distinct from (new.shared_runtime_id, new.salt, new.secret_hash, new.epoch, new.expires_at, new.revoked_at))
  execute function move_epoch_of_row('operator_credential');
create constraint trigger operator_credentials_gone_move_epoch after delete on shared_runtime_operator_credentials deferrable initially deferred
  for each row execute function move_epoch_of_row('operator_credential');
