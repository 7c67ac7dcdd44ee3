-- How roles are written, disabled and ended, and how somebody comes to have one.

alter table role_definitions
  add column description text check (length(description) between 1 and 500),
  add column disable_mode text check (disable_mode in ('block_new_only', 'block_all_now')),
  add column disabled_at timestamptz,
  add column disabled_by uuid references users,
  add column disable_reason text,
  -- What the platform has disabled, the platform alone enables.
  add column is_disabled_by_platform boolean not null default false,
  -- Until then the bindings of a gracefully disabled role still count.
  add column grace_until timestamptz,
  add constraint role_definitions_disabled_whole check (
    case state
      when 'active' then num_nonnulls(disable_mode, disabled_at, disabled_by, disable_reason, grace_until) = 0 and not is_disabled_by_platform
      -- Without a mode it is disabled at once.
      else (disable_mode is not distinct from 'block_new_only') = (grace_until is not null)
    end);

drop index role_definitions_one_custom;
create unique index role_already_exists on role_definitions (scope_id, name) where not is_builtin and deleted_at is null;

alter table role_definition_versions add column reason text;

-- One active binding per principal, scope and role, whatever the version: so a binding knows its role.
alter table tenant_role_bindings add column role_definition_id uuid;
alter table project_role_bindings add column role_definition_id uuid;
update tenant_role_bindings b set role_definition_id = v.role_definition_id from role_definition_versions v where v.id = b.role_version_id;
update project_role_bindings b set role_definition_id = v.role_definition_id from role_definition_versions v where v.id = b.role_version_id;
-- From now on the old column follows the bindings.
update users u set role = 'admin' where role <> 'admin' and exists (
  select from platform_role_bindings b join role_definitions d on d.id = b.role_definition_id
   where b.principal_id = u.id and b.deleted_at is null and d.is_builtin and d.name = 'platform_superadmin');
-- The updates above have moved epochs; that is done now, because a table with events that still wait cannot be altered.
set constraints all immediate;
set constraints all deferred;
alter table tenant_role_bindings
  alter column role_definition_id set not null,
  add constraint tenant_role_bindings_version foreign key (role_version_id, role_definition_id)
    references role_definition_versions (id, role_definition_id);
alter table project_role_bindings
  alter column role_definition_id set not null,
  add constraint project_role_bindings_version foreign key (role_version_id, role_definition_id)
    references role_definition_versions (id, role_definition_id);
drop index tenant_role_bindings_one_active;
drop index project_role_bindings_one_active;
create unique index tenant_role_bindings_one_per_role
  on tenant_role_bindings (tenant_id, principal_type, principal_id, role_definition_id) where deleted_at is null;
create unique index project_role_bindings_one_per_role
  on project_role_bindings (project_id, principal_type, principal_id, role_definition_id) where deleted_at is null;

-- The role of a binding is that of its version, whoever writes it; and an owner is one without an end.
create or replace function require_role_fits() returns trigger language plpgsql as $$
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
    new.role_definition_id := role.id;
  end if;
  if role.scope_type is distinct from tier then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = 'the role is not of this tier';
  end if;
  if not role.is_builtin and role.scope_id is distinct from scope then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = 'the role belongs to another scope';
  end if;
  if tg_op = 'INSERT' and role.deleted_at is not null then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = 'the role has ended';
  end if;
  if new.principal_type = 'service_account' and not role.is_assignable_to_service_accounts then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = 'the role is not for service accounts';
  end if;
  if role.is_builtin and role.name like '%\_owner' and to_jsonb(new) ->> 'expires_at' is not null then
    raise exception using errcode = '23514', constraint = 'role_not_assignable', message = 'an owner has no end';
  end if;
  return new;
end $$;

-- room: invitations
create table invitations (
  id                  uuid primary key,
  tenant_id           uuid not null references organizations,
  -- Null: into the organization alone.
  project_id          uuid,
  email               text not null check (length(email) between 3 and 320 and email = lower(email)),
  role_version_id     uuid not null references role_definition_versions,
  inviter_user_id     uuid not null references users,
  created_at          timestamptz not null,
  ends_at             timestamptz not null,
  accepted_at         timestamptz,
  accepted_by         uuid references users,
  ended_at            timestamptz,
  ended_by            uuid references users,
  end_reason          text,
  constraint invitations_project foreign key (project_id, tenant_id) references projects (id, org_id),
  constraint invitations_accepted_whole check ((accepted_at is null) = (accepted_by is null)),
  constraint invitations_end_whole check ((ended_at is null) = (end_reason is null)),
  constraint invitations_one_end check (accepted_at is null or ended_at is null)
);
create unique index invitation_already_exists on invitations (tenant_id, project_id, email) nulls not distinct
  where accepted_at is null and ended_at is null;
create index invitations_of_email on invitations (email) where accepted_at is null and ended_at is null;

-- A limit may also be one of a few words.
alter table policy_definitions drop constraint policy_definitions_type_check;
alter table policy_definitions add constraint policy_definitions_type_check
  check (type in ('integer', 'number', 'boolean', 'string_list', 'scope_map', 'choice'));
