-- Nodes and their trust, allocations on them, the SSH keys of people and projects, and who may enter with which.

-- What the platform vouches for nodes with. There is one; nodes pin it when they enrol.
-- room: nodes
create table node_authorities (
  id           uuid primary key,
  certificate  text not null,
  envelope     jsonb not null,
  created_at   timestamptz not null,
  ends_at      timestamptz not null check (ends_at > created_at),
  is_active    boolean not null default true
);
create unique index node_authorities_one_active on node_authorities ((true)) where is_active;

-- room: nodes
create table nodes (
  id            uuid primary key,
  name          text not null check (name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' and length(name) <= 63),
  region        text not null check (length(region) between 1 and 63),
  sku           text not null check (length(sku) between 1 and 63),
  gpus          integer not null check (gpus between 0 and 1024),
  -- That it is unavailable is no decision of anybody's: it is seen from when it last asked.
  status        text not null default 'active' check (status in ('active', 'drained', 'retired')),
  created_at    timestamptz not null,
  created_by    uuid references users,
  enrolled_at   timestamptz,
  -- To some seconds: a node asks all the time.
  last_seen_at  timestamptz,
  agent_version text check (length(agent_version) <= 63),
  retired_at    timestamptz,
  retired_by    uuid references users,
  retire_reason text,
  constraint nodes_retired_whole check (
    num_nulls(retired_at, retired_by, retire_reason) in (0, 3) and (status = 'retired') = (retired_at is not null))
);
create unique index node_already_exists on nodes (name) where status <> 'retired';

-- room: nodes
create table node_enrolments (
  id           uuid primary key,
  node_id      uuid not null references nodes,
  -- Of a secret with 256 bits of chance in it.
  secret_hash  bytea not null check (length(secret_hash) = 32),
  -- Of the installation, when it was made: a restored backup revives none.
  epoch        integer not null check (epoch > 0),
  created_at   timestamptz not null,
  created_by   uuid not null references users,
  expires_at   timestamptz not null check (expires_at > created_at),
  -- Used once, or made void by a later one.
  ended_at     timestamptz,
  is_used      boolean not null default false,
  constraint node_enrolments_used check (not is_used or ended_at is not null)
);
create unique index node_enrolments_one_open on node_enrolments (node_id) where ended_at is null;

-- room: nodes
create table node_certificates (
  -- In hexadecimal, as the certificate has it.
  serial       text primary key check (serial ~ '^[0-9a-f]{16,40}$'),
  node_id      uuid not null references nodes,
  -- SHA-256 of the whole certificate, and of the public key in it, in hexadecimal.
  thumbprint   text not null unique check (thumbprint ~ '^[0-9a-f]{64}$'),
  key_thumbprint text not null check (key_thumbprint ~ '^[0-9a-f]{64}$'),
  -- The key itself (SPKI, base64): receipts are signed with it, also one that is repeated after a renewal.
  public_key   text not null check (public_key ~ '^[A-Za-z0-9+/]+={0,2}$' and length(public_key) <= 200),
  epoch        integer not null check (epoch > 0),
  issued_at    timestamptz not null,
  expires_at   timestamptz not null check (expires_at > issued_at),
  ended_at     timestamptz,
  end_reason   text,
  constraint node_certificates_end_whole check (num_nulls(ended_at, end_reason) in (0, 2))
);
create index node_certificates_of_node on node_certificates (node_id) where ended_at is null;

-- The keys that tasks are signed with, by version. The authority vouches for each of them.
-- room: nodes
create table task_signers (
  kid          text primary key check (kid ~ '^[A-Za-z0-9_-]{43}$'),
  version      integer not null unique check (version > 0),
  certificate  text not null,
  envelope     jsonb not null,
  epoch        integer not null check (epoch > 0),
  state        text not null check (state in ('staged', 'active', 'grace', 'retired', 'revoked')),
  created_at   timestamptz not null,
  activated_at timestamptz,
  -- No task signed with it lives longer.
  grace_until  timestamptz,
  ended_at     timestamptz,
  ended_by     uuid references users,
  end_reason   text,
  constraint task_signers_states check (
    case state
      when 'staged' then num_nonnulls(activated_at, grace_until, ended_at) = 0
      when 'active' then activated_at is not null and num_nonnulls(grace_until, ended_at) = 0
      when 'grace' then activated_at is not null and grace_until is not null and ended_at is null
      else ended_at is not null
    end)
);
create unique index task_signers_one_active on task_signers ((true)) where state = 'active';
create unique index task_signers_one_staged on task_signers ((true)) where state = 'staged';

-- room: ssh-keys
create table ssh_public_keys (
  id           uuid primary key,
  -- Personal, or for the automation of a project.
  user_id      uuid references users,
  org_id       uuid,
  project_id   uuid,
  name         text not null check (length(name) between 1 and 100),
  key_type     text not null check (key_type in ('ssh-ed25519', 'ssh-rsa', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521', 'sk-ssh-ed25519@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com')),
  bits         integer not null check (bits between 256 and 16384),
  -- In base64, as it stands in a file of keys: nothing else of what was sent is kept.
  blob         text not null check (blob ~ '^[A-Za-z0-9+/]+={0,2}$' and length(blob) between 60 and 4096),
  fingerprint  text not null check (fingerprint ~ '^SHA256:[A-Za-z0-9+/]{43}$'),
  created_at   timestamptz not null,
  created_by_type text not null check (created_by_type in ('user', 'service_account')),
  created_by   uuid not null,
  deleted_at   timestamptz,
  deleted_by   uuid,
  delete_reason text,
  constraint ssh_public_keys_owner check (num_nonnulls(user_id, project_id) = 1 and (project_id is null) = (org_id is null)),
  constraint ssh_public_keys_of_project foreign key (project_id, org_id) references projects (id, org_id),
  constraint ssh_public_keys_end_whole check (num_nulls(deleted_at, deleted_by, delete_reason) in (0, 3))
);
create unique index ssh_key_already_exists on ssh_public_keys (user_id, fingerprint) where deleted_at is null and user_id is not null;
create unique index ssh_key_already_exists_in_project on ssh_public_keys (project_id, fingerprint)
  where deleted_at is null and project_id is not null;

-- room: allocations
create table allocations (
  id                 uuid primary key,
  org_id             uuid not null,
  project_id         uuid not null,
  name               text not null check (length(name) between 1 and 100),
  requested_by_type  text not null check (requested_by_type in ('user', 'service_account')),
  requested_by       uuid not null,
  -- None where a service account asked for it, until somebody names one.
  owner_user_id      uuid references users,
  -- The runtime of the tenant's that it is tagged for.
  shared_runtime_id  uuid,
  region             text not null check (length(region) between 1 and 63),
  sku                text not null check (length(sku) between 1 and 63),
  gpus               integer not null check (gpus between 0 and 1024),
  node_id            uuid references nodes,
  username_on_node   text check (username_on_node ~ '^gh-[a-z0-9]{6,20}$'),
  state              text not null default 'requested'
    check (state in ('requested', 'provisioning', 'active', 'releasing', 'released', 'failed', 'release_failed')),
  state_since        timestamptz not null,
  -- Why it failed, in a word of ours.
  failure            text check (length(failure) <= 100),
  -- Of the desired set of keys: each change has the next one, and what a node has applied is never overwritten by an earlier one.
  generation         bigint not null default 0,
  -- Of the installation, when that was last counted: after a restore it goes on far beyond what nodes may have seen by then.
  epoch              integer not null check (epoch > 0),
  -- What the node has said that it has applied, and when.
  confirmed_generation bigint not null default 0,
  confirmed_at       timestamptz,
  created_at         timestamptz not null,
  -- When nothing of it was left on the node: until then it takes up its place there.
  cleared_at         timestamptz,
  constraint allocations_of_project foreign key (project_id, org_id) references projects (id, org_id),
  constraint allocations_in_project unique (id, project_id),
  constraint allocations_placed check ((node_id is null) = (username_on_node is null)),
  constraint allocations_confirmed check (confirmed_generation between 0 and generation
    and (confirmed_generation = 0) = (confirmed_at is null)),
  constraint allocations_states check (
    case state
      when 'requested' then node_id is null and cleared_at is null
      when 'released' then cleared_at is not null
      when 'failed' then true
      else node_id is not null and cleared_at is null
    end)
);
create index allocations_of_project_by_id on allocations (project_id, id);
create index allocations_on_node on allocations (node_id) where cleared_at is null and node_id is not null;
create index allocations_waiting on allocations (created_at) where state = 'requested';
-- One account of that name on a node at a time.
create unique index allocations_username_on_node on allocations (node_id, username_on_node) where cleared_at is null;

-- The keys of the owner and of the project's automation.
-- room: allocations
create table allocation_ssh_public_keys (
  id             uuid primary key,
  allocation_id  uuid not null references allocations,
  ssh_key_id     uuid not null references ssh_public_keys,
  epoch          integer not null check (epoch > 0),
  created_at     timestamptz not null,
  created_by     uuid not null,
  ended_at       timestamptz,
  end_cause      text,
  constraint allocation_ssh_public_keys_end_whole check (num_nulls(ended_at, end_cause) in (0, 2))
);
create unique index allocation_ssh_public_keys_one on allocation_ssh_public_keys (allocation_id, ssh_key_id) where ended_at is null;
create index allocation_ssh_public_keys_of_key on allocation_ssh_public_keys (ssh_key_id) where ended_at is null;

-- room: access-grants
create table allocation_access_grants (
  id               uuid primary key,
  allocation_id    uuid not null,
  project_id       uuid not null,
  grantee_user_id  uuid not null references users,
  ssh_key_id       uuid not null references ssh_public_keys,
  epoch            integer not null check (epoch > 0),
  expires_at       timestamptz,
  reason           text,
  created_at       timestamptz not null,
  created_by       uuid not null references users,
  updated_at       timestamptz not null,
  -- The set of keys in which its latest change is; null while nothing has been sent to a node yet.
  generation       bigint,
  ended_at         timestamptz,
  -- Null: the product itself, as when its time was over.
  ended_by         uuid,
  end_cause        text check (end_cause in ('revoked', 'expired', 'project_membership_ended', 'tenant_membership_ended', 'key_deleted',
    'user_disabled', 'allocation_released', 'allocation_failed', 'node_retired', 'backup_restored')),
  constraint allocation_access_grants_of_allocation foreign key (allocation_id, project_id) references allocations (id, project_id),
  constraint allocation_access_grants_end_whole check (num_nulls(ended_at, end_cause) in (0, 2) and (ended_by is null or ended_at is not null))
);
create unique index access_grant_already_exists on allocation_access_grants (allocation_id, grantee_user_id, ssh_key_id) where ended_at is null;
create index allocation_access_grants_of_allocation_by_id on allocation_access_grants (allocation_id, id);
create index allocation_access_grants_of_grantee on allocation_access_grants (grantee_user_id) where ended_at is null;
create index allocation_access_grants_of_key on allocation_access_grants (ssh_key_id) where ended_at is null;
create index allocation_access_grants_by_end on allocation_access_grants (expires_at) where ended_at is null and expires_at is not null;

-- room: nodes
create table node_tasks (
  id             uuid primary key,
  node_id        uuid not null references nodes,
  type           text not null check (type in ('allocation.provision_user', 'allocation.install_authorized_keys',
    'allocation.deprovision_user', 'storage.mount', 'storage.unmount', 'diag.health_probe')),
  -- What its order is kept among; null: it stands alone.
  allocation_id  uuid references allocations,
  org_id         uuid references organizations,
  project_id     uuid,
  params         jsonb not null check (jsonb_typeof(params) = 'object'),
  generation     bigint not null check (generation >= 0),
  kid            text not null references task_signers,
  signature      text not null check (signature ~ '^[A-Za-z0-9_-]{86}$'),
  state          text not null default 'queued' check (state in ('queued', 'dispatched', 'completed', 'failed', 'expired', 'superseded')),
  created_at     timestamptz not null,
  correlation_id text not null,
  expires_at     timestamptz not null check (expires_at > created_at),
  dispatched_at  timestamptz,
  -- Which run of the agent has it: one that was started anew has lost what it held.
  dispatched_to  uuid,
  attempts       integer not null default 0 check (attempts >= 0),
  -- When the node's word came; also for one that was superseded or had expired by then.
  reported_at    timestamptz,
  result         jsonb,
  -- Somebody was told that it takes too long.
  overdue_noted_at timestamptz,
  constraint node_tasks_states check (
    case state
      when 'queued' then num_nonnulls(dispatched_at, reported_at) = 0
      when 'dispatched' then dispatched_at is not null and reported_at is null
      when 'completed' then num_nonnulls(dispatched_at, reported_at) = 2
      when 'failed' then num_nonnulls(dispatched_at, reported_at) = 2
      else true
    end),
  constraint node_tasks_reported_whole check (num_nulls(reported_at, result) in (0, 2))
);
create index node_tasks_open on node_tasks (node_id, created_at) where state in ('queued', 'dispatched');
create index node_tasks_of_node on node_tasks (node_id, id);
create index node_tasks_of_allocation on node_tasks (allocation_id, generation);
-- One that is under way, for each allocation and type: a later set takes the place of the one before.
create unique index node_tasks_one_open on node_tasks (allocation_id, type) where state in ('queued', 'dispatched') and allocation_id is not null;

-- Wakes those who wait; it carries no truth, whoever is woken looks.
create function wake_node() returns trigger language plpgsql as $$
begin
  perform pg_notify('gatehouse_node_tasks', new.node_id::text);
  return null;
end $$;
create trigger node_tasks_wake_node after insert on node_tasks for each row execute function wake_node();

-- Who waits when his identity ends is to learn it at once.
create function wake_retired_node() returns trigger language plpgsql as $$
begin
  perform pg_notify('gatehouse_node_tasks', new.id::text);
  return null;
end $$;
create trigger nodes_wake_retired after update of status on nodes for each row when (new.status = 'retired') execute function wake_retired_node();
