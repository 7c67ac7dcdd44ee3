-- A table may refuse what is given, never what is ended: the roles of bindings are judged when somebody gets one, not when it is taken away.

create or replace function require_role_fits() returns trigger language plpgsql as $$
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
end $$;
