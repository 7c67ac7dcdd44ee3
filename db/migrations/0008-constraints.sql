-- Rules that take away what roles give: data, not code. A row is one version; what changed is a new row, and the old one says until
-- when it held. Who ends a rule ends its last version.

-- room: policy-admin
create table policy_constraints (
  constraint_id  uuid not null,
  version        integer not null check (version > 0),
  key            text not null check (key ~ '^[a-z][a-z0-9_.-]*$' and length(key) <= 100),
  scope_type     text not null check (scope_type in ('global', 'tenant', 'project')),
  tenant_id      uuid references organizations,
  project_id     uuid references projects,
  description    text check (length(description) between 1 and 500),
  -- Keys of actions, or one group (`allocation.*`).
  actions        text[] not null check (cardinality(actions) between 1 and 200),
  effect         text not null default 'deny' check (effect = 'deny'),
  condition      jsonb not null check (jsonb_typeof(condition) = 'object'),
  -- In which zone the condition's minutes and weekdays are meant.
  time_zone      text not null check (length(time_zone) between 1 and 64),
  is_locked      boolean not null,
  state          text not null check (state in ('active', 'disabled')),
  created_at     timestamptz not null,
  created_by     uuid references users,
  reason         text,
  replaced_at    timestamptz,
  replaced_by    uuid references users,
  -- Set where no version follows.
  delete_reason  text,
  primary key (constraint_id, version),
  constraint policy_constraints_scope check (
    case scope_type
      when 'global' then num_nonnulls(tenant_id, project_id) = 0
      when 'tenant' then tenant_id is not null and project_id is null
      else project_id is not null and tenant_id is null
    end),
  constraint policy_constraints_end_whole check (delete_reason is null or replaced_at is not null)
);
create unique index policy_constraints_one_current on policy_constraints (constraint_id) where replaced_at is null;
create unique index constraint_already_exists on policy_constraints (key, scope_type, coalesce(project_id, tenant_id)) nulls not distinct
  where replaced_at is null;

create index policy_constraints_of_platform on policy_constraints (key) where replaced_at is null and scope_type = 'global';
create index policy_constraints_of_tenant on policy_constraints (tenant_id) where replaced_at is null;
create index policy_constraints_of_project on policy_constraints (project_id) where replaced_at is null;

create constraint trigger policy_constraints_move_epoch after insert or update or delete on policy_constraints deferrable initially deferred
  for each row execute function move_epoch_of_row('scoped');

-- room: policy-admin takes policy_definitions
-- room: policy-admin takes policy_values
alter table policy_values
  add column reason text,
  add column replaced_by uuid references users;
create unique index policy_values_version_once on policy_values (key, scope_type, coalesce(project_id, tenant_id), version) nulls not distinct;
create index policy_values_of_tenant on policy_values (tenant_id) where replaced_at is null;
create index policy_values_of_project on policy_values (project_id) where replaced_at is null;
