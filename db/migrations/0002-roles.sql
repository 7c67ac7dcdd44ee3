-- As what: definitions, their versions, and who is bound to which. Built-in roles are code; their rows are anchors and a mirror.

-- room: roles
create table role_definitions (
  id                                uuid primary key,
  scope_type                        text not null check (scope_type in ('platform', 'tenant', 'project')),
  -- Null for built-ins, which belong to no owner.
  tenant_id                         uuid references organizations,
  project_id                        uuid references projects,
  scope_id                          uuid generated always as (coalesce(project_id, tenant_id)) stored,
  name                              text not null check (name ~ '^[a-z][a-z0-9_-]*$' and length(name) <= 63),
  is_builtin                        boolean not null,
  is_assignable_to_service_accounts boolean not null default false,
  state                             text not null default 'active' check (state in ('active', 'disabled')),
  current_version_id                uuid not null,
  created_at                        timestamptz not null,
  deleted_at                        timestamptz,
  deleted_by_user_id                uuid references users,
  delete_reason                     text,
  constraint role_definitions_owner check (
    case
      when is_builtin then tenant_id is null and project_id is null
      when scope_type = 'tenant' then tenant_id is not null and project_id is null
      when scope_type = 'project' then project_id is not null and tenant_id is null
      else false
    end),
  -- Service accounts live in projects: no other tier can ever be theirs.
  constraint role_definitions_service_accounts check (not is_assignable_to_service_accounts or scope_type = 'project'),
  constraint role_definitions_end_whole check (num_nulls(deleted_at, deleted_by_user_id, delete_reason) in (0, 3)),
  constraint role_definitions_builtin_stays check (not is_builtin or deleted_at is null)
);
create unique index role_definitions_one_builtin on role_definitions (name) where is_builtin;
create unique index role_definitions_one_custom on role_definitions (scope_id, name) where not is_builtin and deleted_at is null;

-- room: roles
create table role_definition_versions (
  id                  uuid primary key,
  role_definition_id  uuid not null references role_definitions deferrable initially deferred,
  version             integer not null check (version > 0),
  created_at          timestamptz not null,
  created_by_user_id  uuid references users,
  constraint role_definition_versions_once unique (role_definition_id, version),
  constraint role_definition_versions_of_definition unique (id, role_definition_id)
);
-- The current version is a version of the same definition; deferred, because each row needs the other.
alter table role_definitions
  add constraint role_definitions_current_version foreign key (current_version_id, id)
    references role_definition_versions (id, role_definition_id) deferrable initially deferred;

-- room: roles
create table role_permissions (
  role_version_id  uuid not null references role_definition_versions,
  permission_key   text not null check (permission_key ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$'),
  -- Deny is reserved: constraints are the way to deny.
  effect           text not null default 'allow' check (effect = 'allow'),
  primary key (role_version_id, permission_key)
);

-- room: roles
create table platform_role_bindings (
  id                  uuid primary key,
  principal_type      text not null check (principal_type = 'user'),
  principal_id        uuid not null references users,
  role_definition_id  uuid not null references role_definitions,
  created_at          timestamptz not null,
  created_by          uuid references users,
  deleted_at          timestamptz,
  deleted_by          uuid references users,
  delete_reason       text,
  constraint platform_role_bindings_end_whole check ((deleted_at is null) = (delete_reason is null))
);
create unique index platform_role_bindings_one_active
  on platform_role_bindings (principal_type, principal_id, role_definition_id) where deleted_at is null;

-- room: roles
create table tenant_role_bindings (
  id               uuid primary key,
  tenant_id        uuid not null references organizations,
  principal_type   text not null check (principal_type = 'user'),
  principal_id     uuid not null references users,
  role_version_id  uuid not null references role_definition_versions,
  created_at       timestamptz not null,
  created_by       uuid references users,
  expires_at       timestamptz,
  deleted_at       timestamptz,
  deleted_by       uuid references users,
  delete_reason    text,
  constraint tenant_role_bindings_end_whole check ((deleted_at is null) = (delete_reason is null))
);
create unique index tenant_role_bindings_one_active
  on tenant_role_bindings (tenant_id, principal_type, principal_id, role_version_id) where deleted_at is null;

-- room: roles
create table project_role_bindings (
  id               uuid primary key,
  project_id       uuid not null references projects,
  principal_type   text not null check (principal_type in ('user', 'service_account')),
  principal_id     uuid not null,
  role_version_id  uuid not null references role_definition_versions,
  created_at       timestamptz not null,
  created_by       uuid references users,
  expires_at       timestamptz,
  deleted_at       timestamptz,
  deleted_by       uuid references users,
  delete_reason    text,
  constraint project_role_bindings_end_whole check ((deleted_at is null) = (delete_reason is null))
);
create unique index project_role_bindings_one_active
  on project_role_bindings (project_id, principal_type, principal_id, role_version_id) where deleted_at is null;

-- A binding's role is of the binding's own tier, and a custom one of the binding's own scope. A foreign key cannot say this.
create function require_role_fits() returns trigger language plpgsql as $$
declare
  -- The three tables differ in their columns, so the row is read as JSON.
  tier text := tg_argv[0];
  scope uuid;
  role role_definitions;
begin
  if tier = 'platform' then
    select * into role from role_definitions where id = (to_jsonb(new) ->> 'role_definition_id')::uuid;
  else
    select d.* into role
      from role_definition_versions v join role_definitions d on d.id = v.role_definition_id
     where v.id = (to_jsonb(new) ->> 'role_version_id')::uuid;
    scope := (to_jsonb(new) ->> (tier || '_id'))::uuid;
  end if;
  if role.scope_type is distinct from tier then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = 'the role is not of this tier';
  end if;
  if not role.is_builtin and role.scope_id is distinct from scope then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = 'the role belongs to another scope';
  end if;
  if new.principal_type = 'service_account' and not role.is_assignable_to_service_accounts then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = 'the role is not for service accounts';
  end if;
  return new;
end $$;

create trigger platform_role_fits before insert or update on platform_role_bindings
  for each row execute function require_role_fits('platform');
create trigger tenant_role_fits before insert or update on tenant_role_bindings
  for each row execute function require_role_fits('tenant');
create trigger project_role_fits before insert or update on project_role_bindings
  for each row execute function require_role_fits('project');
