-- What a process has read stays true until something changes. Each change moves the epoch of its tenant, or of the platform if it
-- reaches further, in its own transaction: who reads the same epoch again knows that nothing changed in between.

-- room: epochs
create table epochs (
  -- A tenant, or all zeros for the platform.
  id     uuid primary key,
  value  bigint not null check (value > 0),
  -- A counter alone could come to the same figure twice: before a restore and after it.
  stamp  uuid not null
);

-- Once for each scope that a transaction touches.
create function move_epoch(scope uuid) returns void language plpgsql as $$
declare
  moved text := coalesce(current_setting('gatehouse.moved', true), '');
begin
  if position(scope::text in moved) > 0 then return; end if;
  insert into epochs as e (id, value, stamp) values (scope, 1, gen_random_uuid())
    on conflict (id) do update set value = e.value + 1, stamp = gen_random_uuid();
  perform set_config('gatehouse.moved', moved || scope::text, true);
end $$;

-- Which tenant a row concerns. The tables differ in their columns, so the row is read as JSON.
create function epoch_of_row(kind text, changed jsonb) returns uuid language sql stable as $$
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
    end,
    -- What lies in no tenant concerns the platform.
    '00000000-0000-0000-0000-000000000000')
$$;

-- Deferred to the commit, so that an epoch's lock is held for no longer than that takes.
create function move_epoch_of_row() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and to_jsonb(old) = to_jsonb(new) then return null; end if;
  if tg_op <> 'INSERT' then perform move_epoch(epoch_of_row(tg_argv[0], to_jsonb(old))); end if;
  if tg_op <> 'DELETE' then perform move_epoch(epoch_of_row(tg_argv[0], to_jsonb(new))); end if;
  return null;
end $$;

-- A new person has no rights yet, and nobody keeps that somebody is unknown: only what changes about a person counts.
create constraint trigger users_move_epoch after update on users deferrable initially deferred
  for each row when (
    (old.disabled_at, old.role, old.oidc_issuer, old.oidc_subject, old.email, old.email_verified)
    is distinct from (new.disabled_at, new.role, new.oidc_issuer, new.oidc_subject, new.email, new.email_verified))
  execute function move_epoch_of_row('platform');
create constraint trigger users_gone_move_epoch after delete on users deferrable initially deferred
  for each row execute function move_epoch_of_row('platform');
create constraint trigger organizations_move_epoch after insert or update or delete on organizations deferrable initially deferred
  for each row execute function move_epoch_of_row('organization');
create constraint trigger projects_move_epoch after insert or update or delete on projects deferrable initially deferred
  for each row execute function move_epoch_of_row('project');
-- Which tenant a project lies in is kept for all: nothing moves one today, but who does so reaches further than a tenant.
create constraint trigger projects_moved_move_epoch after update on projects deferrable initially deferred
  for each row when (old.org_id is distinct from new.org_id) execute function move_epoch_of_row('platform');
create constraint trigger tenant_memberships_move_epoch after insert or update or delete on tenant_memberships deferrable initially deferred
  for each row execute function move_epoch_of_row('scoped');
create constraint trigger project_memberships_move_epoch after insert or update or delete on project_memberships deferrable initially deferred
  for each row execute function move_epoch_of_row('scoped');
create constraint trigger platform_role_bindings_move_epoch after insert or update or delete on platform_role_bindings deferrable initially deferred
  for each row execute function move_epoch_of_row('platform');
create constraint trigger tenant_role_bindings_move_epoch after insert or update or delete on tenant_role_bindings deferrable initially deferred
  for each row execute function move_epoch_of_row('scoped');
create constraint trigger project_role_bindings_move_epoch after insert or update or delete on project_role_bindings deferrable initially deferred
  for each row execute function move_epoch_of_row('scoped');
create constraint trigger role_definitions_move_epoch after insert or update or delete on role_definitions deferrable initially deferred
  for each row execute function move_epoch_of_row('scoped');
create constraint trigger role_definition_versions_move_epoch after update on role_definition_versions deferrable initially deferred
  for each row execute function move_epoch_of_row('version');
create constraint trigger role_permissions_move_epoch after insert or update or delete on role_permissions deferrable initially deferred
  for each row execute function move_epoch_of_row('role_version');
create constraint trigger policy_values_move_epoch after insert or update or delete on policy_values deferrable initially deferred
  for each row execute function move_epoch_of_row('scoped');
