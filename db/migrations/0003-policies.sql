-- Typed limits. Definitions are code and mirrored here; a value that is missing or unreadable refuses, no default is read in its place.

-- room: policies
create table policy_definitions (
  key            text primary key check (key ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$'),
  type           text not null check (type in ('integer', 'number', 'boolean', 'string_list', 'scope_map')),
  purpose        text not null,
  default_value  jsonb,
  bounds         jsonb not null default '{}',
  scopes         text[] not null check (scopes <@ array['global', 'tenant', 'project']),
  direction      text not null check (direction in ('global', 'tighten_lower', 'tighten_upper', 'most_specific'))
);

-- room: policies
create table policy_values (
  id           uuid primary key,
  key          text not null references policy_definitions,
  scope_type   text not null check (scope_type in ('global', 'tenant', 'project')),
  tenant_id    uuid references organizations,
  project_id   uuid references projects,
  value        jsonb not null,
  version      integer not null check (version > 0),
  created_at   timestamptz not null,
  created_by   uuid references users,
  replaced_at  timestamptz,
  constraint policy_values_scope check (
    case scope_type
      when 'global' then num_nonnulls(tenant_id, project_id) = 0
      when 'tenant' then tenant_id is not null and project_id is null
      else project_id is not null and tenant_id is null
    end)
);
create unique index policy_values_one_current on policy_values (key, scope_type, coalesce(project_id, tenant_id)) nulls not distinct
  where replaced_at is null;
