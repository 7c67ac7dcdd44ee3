-- The rules of decisions a second time, in another language and from the specification alone, to be compared with the engine. It asks
-- the product's own tables and the relation `differential_questions`. Everything the code owns is typed here again by hand.
with recursive
-- ── What the code owns ──────────────────────────────────────────────────────────────────────────────────────────────────────────
-- Column o of permissions.md: may override reach it.
registry (key, tier, is_eligible) as (values
  ('platform.ops.read', 'platform', true),
  ('platform.ops.runbook.read', 'platform', true),
  ('platform.node.read', 'platform', true),
  ('platform.node.probe', 'platform', true),
  ('platform.audit.read', 'platform', true),
  ('platform.admin', 'platform', true),
  ('platform.node.manage', 'platform', true),
  ('platform.authz.evaluate', 'platform', true),
  ('me.read', 'platform', false),
  ('me.invitation.accept', 'platform', false),
  ('me.ssh_key.read', 'platform', false),
  ('me.ssh_key.manage', 'platform', false),
  ('node.certificate.renew', 'platform', false),
  ('node.task.read', 'platform', false),
  ('node.task.report', 'platform', false),
  ('tenant.user.invite', 'tenant', true),
  ('tenant.user.remove', 'tenant', true),
  ('tenant.user.read', 'tenant', true),
  ('tenant.role.assign', 'tenant', true),
  ('tenant.policy.write', 'tenant', true),
  ('tenant.project.create', 'tenant', true),
  ('tenant.project.read', 'tenant', true),
  ('tenant.project.update', 'tenant', true),
  ('tenant.read', 'tenant', true),
  ('project.read', 'tenant', true),
  ('tenant.billing.read', 'tenant', false),
  ('tenant.billing.write', 'tenant', false),
  ('tenant.invoice.read', 'tenant', false),
  ('tenant.role.assign_any', 'tenant', true),
  ('tenant.role.define', 'tenant', true),
  ('tenant.role.read', 'tenant', true),
  ('tenant.project.appoint_owner', 'tenant', true),
  ('tenant.update', 'tenant', true),
  ('tenant.policy.read', 'tenant', true),
  ('tenant.audit.read', 'tenant', true),
  ('tenant.shared_runtime.read', 'tenant', true),
  ('tenant.shared_runtime.manage', 'tenant', true),
  ('tenant.access_grant.manage', 'tenant', true),
  ('tenant.project.read_own', 'tenant', false),
  ('tenant.user.leave', 'tenant', false),
  ('shared_runtime.allocation.read', 'tenant', false),
  ('shared_runtime.attach', 'tenant', false),
  ('shared_runtime.credential.deliver', 'tenant', false),
  ('shared_runtime.detach', 'tenant', false),
  ('shared_runtime.report', 'tenant', false),
  ('shared_runtime.token.issue', 'tenant', false),
  ('project.role.assign', 'project', true),
  ('project.member.invite', 'project', true),
  ('allocation.create', 'project', false),
  ('allocation.release', 'project', false),
  ('allocation.read', 'project', false),
  ('storage.read', 'project', false),
  ('storage.write', 'project', false),
  ('terminal.connect', 'project', false),
  ('project.role.assign_any', 'project', true),
  ('project.role.define', 'project', true),
  ('project.role.read', 'project', true),
  ('project.member.read', 'project', true),
  ('project.member.remove', 'project', true),
  ('project.policy.read', 'project', true),
  ('project.audit.read', 'project', true),
  ('project.service_account.manage', 'project', true),
  ('project.service_account.key.create', 'project', false),
  ('project.service_account.read', 'project', true),
  ('project.access_grant.manage', 'project', true),
  ('project.access_grant.read', 'project', true),
  ('project.ssh_key.manage', 'project', false),
  ('project.ssh_key.read', 'project', true),
  ('allocation.ssh_keys.write', 'project', false),
  ('workload.read', 'project', false),
  ('workload.manage', 'project', false),
  ('workload.token.issue', 'project', false),
  ('storage.bucket.manage', 'project', false),
  ('storage.grant.manage', 'project', false),
  ('storage.credential.issue', 'project', false),
  ('storage.credential.read', 'project', false),
  ('storage.credential.revoke', 'project', false),
  ('storage.mount_plan.read', 'project', false),
  ('project.access_grant.read_own', 'project', false),
  ('project.access_grant.revoke_own', 'project', false),
  ('auth.token.introspect', 'project', false),
  ('auth.token.issue', 'project', false),
  ('auth.token.revoke_own', 'project', false),
  ('project.member.leave', 'project', false)),
-- Column s, and of the baseline what is done with machines and storage: what a service account can have of a role.
fit (key) as (values
  ('allocation.create'), ('allocation.release'), ('allocation.read'), ('storage.read'), ('storage.write'), ('terminal.connect'),
  ('project.role.read'), ('project.member.read'), ('project.policy.read'), ('project.audit.read'), ('project.service_account.read'),
  ('project.ssh_key.manage'), ('project.ssh_key.read'), ('workload.read'), ('workload.manage'), ('workload.token.issue'),
  ('storage.bucket.manage'), ('storage.credential.issue'), ('storage.credential.read'), ('storage.mount_plan.read')),
-- What comes with being such a machine.
by_class (actor_type, key) as (values
  ('service_account', 'me.read'), ('service_account', 'auth.token.issue'), ('service_account', 'auth.token.introspect'),
  ('service_account', 'auth.token.revoke_own'), ('shared_runtime_operator', 'shared_runtime.token.issue')),
-- The list of operators, and what its tenant may add to it.
of_operators (key, delegated_by) as (values
  ('tenant.shared_runtime.read', null), ('shared_runtime.report', null), ('shared_runtime.credential.deliver', null),
  ('shared_runtime.allocation.read', null), ('shared_runtime.attach', 'attach'), ('shared_runtime.detach', 'detach')),
-- They belong to the person: no role gives them and no rule takes them away. `project.read` is given both ways.
personal (key) as (values
  ('me.read'), ('me.ssh_key.read'), ('me.ssh_key.manage'), ('me.invitation.accept'), ('tenant.user.leave'), ('project.member.leave'),
  ('tenant.project.read_own')),
-- What a person has for one resource by how he stands to it.
related (relation, key) as (values
  ('self', 'me.read'), ('self', 'me.ssh_key.read'), ('self', 'me.ssh_key.manage'), ('self', 'tenant.user.leave'), ('self', 'project.member.leave'),
  ('invitee', 'me.invitation.accept'),
  ('allocation_owner', 'project.access_grant.manage'), ('allocation_owner', 'project.access_grant.read'),
  ('allocation_owner', 'allocation.ssh_keys.write'),
  ('grantee', 'project.access_grant.read_own'), ('grantee', 'project.access_grant.revoke_own')),
-- The baseline table of seed 002, then the column "first role that has it" of permissions.md.
written (role, keys) as (values
  ('platform_superadmin', 'authorization.override.all'),
  ('platform_ops', 'platform.ops.read platform.ops.runbook.read platform.node.read platform.node.probe platform.audit.read'),
  ('tenant_owner', 'tenant.user.invite tenant.user.remove tenant.role.assign tenant.policy.write tenant.project.create tenant.billing.read tenant.billing.write'),
  ('tenant_admin', 'tenant.user.invite tenant.user.remove tenant.role.assign tenant.project.read tenant.project.update tenant.billing.read'),
  ('tenant_member', 'tenant.read project.read tenant.user.read'),
  ('tenant_billing_manager', 'tenant.billing.read tenant.billing.write tenant.invoice.read'),
  ('tenant_billing_viewer', 'tenant.billing.read tenant.invoice.read'),
  ('tenant_viewer', 'tenant.read'),
  ('project_owner', 'project.role.assign allocation.create allocation.release allocation.read storage.read storage.write terminal.connect'),
  ('project_admin', 'project.member.invite allocation.create allocation.release allocation.read storage.read storage.write terminal.connect'),
  ('project_member', 'allocation.create allocation.release allocation.read storage.read storage.write terminal.connect'),
  ('project_viewer', 'allocation.read storage.read'),

  ('platform_ops', 'platform.authz.evaluate'),
  ('tenant_owner', 'tenant.role.assign_any tenant.role.define tenant.project.appoint_owner tenant.update'),
  ('tenant_admin', 'tenant.policy.read tenant.audit.read tenant.shared_runtime.manage tenant.access_grant.manage'),
  ('tenant_member', 'tenant.role.read tenant.shared_runtime.read'),
  ('project_owner', 'project.role.assign_any project.role.define'),
  ('project_admin', 'project.member.remove project.policy.read project.audit.read project.service_account.manage project.service_account.key.create project.access_grant.manage allocation.ssh_keys.write storage.bucket.manage storage.grant.manage storage.credential.revoke'),
  ('project_member', 'project.service_account.read project.access_grant.read project.ssh_key.manage workload.manage workload.token.issue storage.credential.issue storage.credential.read storage.mount_plan.read'),
  ('project_viewer', 'project.role.read project.member.read project.ssh_key.read workload.read')),
includes (role, lower) as (values
  ('tenant_owner', 'tenant_admin'), ('tenant_admin', 'tenant_member'),
  ('project_owner', 'project_admin'), ('project_admin', 'project_member'), ('project_member', 'project_viewer')),
reaches (role, lower) as (
  select role, role from written
  union
  select reaches.role, includes.lower from reaches join includes on includes.role = reaches.lower),
builtin (role, key) as (
  select distinct reaches.role, key from reaches join written on written.role = reaches.lower, unnest(string_to_array(written.keys, ' ')) key),
not_grantable (key) as (values
  ('authorization.override.all'), ('tenant.role.assign_any'), ('project.role.assign_any'), ('tenant.role.define'), ('project.role.define'),
  ('tenant.project.appoint_owner'), ('project.access_grant.read_own'), ('project.access_grant.revoke_own')),

-- Which of the two places a platform role can stand in is heard.
role_source (name) as (
  select value #>> '{}' from policy_values
  where key = 'authorization.platform_role_source' and scope_type = 'global' and replaced_at is null),

-- ── Where, and how the actor stands there ───────────────────────────────────────────────────────────────────────────────────────
said as (
  select q.*,
    coalesce(q.tenant_id, case when q.resource_type = 'organization' then q.resource_id end) as said_tenant,
    coalesce(q.project_id, case when q.resource_type = 'project' then q.resource_id end) as said_project
  from differential_questions q),
placed as materialized (
  select said.id, coalesce(said.actor_type, 'user') as actor_type, said.actor_id, said.action, said.resource_type, said.attributes, said.token, said.elevations, said.now,
    registry.tier, registry.is_eligible, said.action in (select key from personal) as is_personal,
    said.action ~ '\.read(_own)?$' or said.action in ('platform.authz.evaluate', 'auth.token.introspect') as is_read,
    -- Machines have no relations.
    coalesce(said.actor_type, 'user') = 'user' and exists (
      select from related where related.key = said.action and case related.relation
        when 'self' then said.resource_type = 'user' and said.resource_id = said.actor_id
        else said.relations ? related.relation
      end) as is_related,
    case when said.resource_type = 'shared_runtime' then said.resource_id end as runtime,
    place.tenant, place.project, place.project_state
  from said
  join registry on registry.key = said.action
  left join projects p on p.id = said.said_project
  cross join lateral (
    select
      case when said.said_project is null then said.said_tenant else p.org_id end as tenant,
      p.id as project,
      p.state as project_state
    where said.said_project is null or said.said_tenant is null or said.said_tenant = p.org_id
    union all
    -- A project that does not exist, or lies elsewhere than it is said to, lies nowhere.
    select null, null, null
    where said.said_project is not null and said.said_tenant is not null and said.said_tenant is distinct from p.org_id) place),
standing as materialized (
  select placed.id, placed.actor_type, placed.actor_id, placed.action, placed.resource_type, placed.attributes, placed.elevations, placed.now,
    placed.tier, placed.is_eligible, placed.is_personal, placed.is_read, placed.is_related, placed.runtime, placed.tenant, placed.project, placed.project_state,
    case placed.actor_type
      when 'user' then u.id is null or u.disabled_at is not null
      when 'service_account' then sa.id is null or sa.state <> 'active'
      else rt.id is null or rt.state = 'disabled'
    end as is_disabled,
    coalesce(u.role = 'admin', false) as is_admin_by_column,
    -- Active, suspended and deleted are three states: what is deleted is not suspended.
    case when o.deleted_at is null then o.state end as tenant_state,
    case placed.actor_type
      when 'user' then tm.id is not null and o.deleted_at is null and o.id is not null
      when 'service_account' then false
      else coalesce(rt.org_id = o.id and o.deleted_at is null and rt.state <> 'disabled', false)
    end as in_tenant,
    case placed.actor_type
      when 'user' then tm.id is not null and o.deleted_at is null and o.id is not null and pm.id is not null
      when 'service_account' then coalesce(sa.project_id = placed.project and sa.org_id = o.id and o.deleted_at is null, false)
      else coalesce(rt.org_id = o.id, false) and exists (
        select from shared_runtime_attachments a
        where a.shared_runtime_id = rt.id and a.project_id = placed.project and a.detached_at is null)
    end as in_project,
    coalesce(rt.org_id = o.id and placed.project = any(rt.eligible_project_ids), false) as may_be_attached,
    -- A machine is bound by its own record also where it shows no token.
    coalesce(placed.token, case placed.actor_type
      when 'service_account' then jsonb_build_object('tenant_id', sa.org_id, 'project_id', sa.project_id)
      when 'shared_runtime_operator' then jsonb_build_object('tenant_id', rt.org_id, 'shared_runtime_id', rt.id)
    end) as token,
    exists (select from by_class c where c.actor_type = placed.actor_type and c.key = placed.action) as is_by_class,
    exists (select from of_operators l where l.key = placed.action
      and (l.delegated_by is null or l.delegated_by = any(rt.delegated_actions))) as is_listed
  from placed
  left join users u on u.id = placed.actor_id and placed.actor_type = 'user'
  left join service_accounts sa on sa.id = placed.actor_id and placed.actor_type = 'service_account' and sa.state <> 'deleted'
  left join shared_app_runtimes rt on rt.id = placed.actor_id and placed.actor_type = 'shared_runtime_operator' and rt.state <> 'deleted'
  left join organizations o on o.id = placed.tenant
  left join tenant_memberships tm on tm.tenant_id = placed.tenant and tm.user_id = placed.actor_id and tm.deleted_at is null
  left join project_memberships pm on pm.project_id = placed.project and pm.user_id = placed.actor_id and pm.deleted_at is null),

-- ── What roles give ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
bound (id, now, action, tier, version, definition) as (
  select s.id, s.now, s.action, 'platform', null::uuid, b.role_definition_id
  from standing s join platform_role_bindings b on b.principal_id = s.actor_id
  where s.actor_type = 'user' and b.principal_type = 'user' and b.deleted_at is null
    and (select name from role_source) in ('bindings', 'transition')
  union all
  -- An administrator of the old column is a superadmin: where it alone is heard, or he was never bound.
  select s.id, s.now, s.action, 'platform', null, d.id
  from standing s join role_definitions d on d.is_builtin and d.name = 'platform_superadmin'
  where s.is_admin_by_column and case (select name from role_source)
    when 'users_role' then true
    when 'transition' then not exists (select from platform_role_bindings b where b.principal_type = 'user' and b.principal_id = s.actor_id)
  end
  union all
  select s.id, s.now, s.action, 'tenant', b.role_version_id, v.role_definition_id
  from standing s
  join tenant_role_bindings b on b.tenant_id = s.tenant and b.principal_id = s.actor_id
  join role_definition_versions v on v.id = b.role_version_id
  join role_definitions d on d.id = v.role_definition_id
  where s.actor_type = 'user' and b.principal_type = 'user' and b.deleted_at is null and (b.expires_at is null or b.expires_at > s.now)
    and (d.is_builtin or d.tenant_id = b.tenant_id)
  union all
  select s.id, s.now, s.action, 'project', b.role_version_id, v.role_definition_id
  from standing s
  join project_role_bindings b on b.project_id = s.project and b.principal_id = s.actor_id
  join role_definition_versions v on v.id = b.role_version_id
  join role_definitions d on d.id = v.role_definition_id
  where b.principal_type = s.actor_type and b.deleted_at is null and (b.expires_at is null or b.expires_at > s.now)
    and (d.is_builtin or d.project_id = b.project_id)),
-- Only what is asked about: all that roles hold, for each question, would be too much to lay side by side. A role that is disabled for new
-- bindings only still gives until its grace is over.
giving (id, key, is_active) as (
  select bound.id, builtin.key, d.state = 'active' or coalesce(bound.now < d.grace_until, false)
  from bound
  join role_definitions d on d.id = bound.definition and d.scope_type = bound.tier and d.is_builtin and d.deleted_at is null
  join builtin on builtin.role = d.name and builtin.key in (bound.action, 'authorization.override.all')
  union all
  select bound.id, rp.permission_key, d.state = 'active' or coalesce(bound.now < d.grace_until, false)
  from bound
  join role_definitions d on d.id = bound.definition and d.scope_type = bound.tier and not d.is_builtin and d.deleted_at is null
  join role_permissions rp on rp.role_version_id = bound.version and rp.permission_key = bound.action and rp.effect = 'allow'
  join registry on registry.key = bound.action and registry.tier = bound.tier and registry.tier <> 'platform'
  where rp.permission_key not in (select key from not_grantable) and rp.permission_key not in (select key from personal)
    and rp.permission_key not in (select key from by_class) and rp.permission_key !~ '^(shared_runtime|node)\.'),
held as (
  select s.id,
    coalesce(bool_or(g.key = s.action and g.is_active), false) as is_given,
    coalesce(bool_or(g.key = s.action and not g.is_active), false) as is_given_disabled,
    coalesce(bool_or(g.key = 'authorization.override.all' and g.is_active), false) as has_override
  from standing s left join giving g on g.id = s.id and (s.actor_type = 'user' or g.key in (select key from fit))
  group by s.id),

-- ── Elevations and tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────
elevated as (
  select distinct on (s.id) s.id, e.id as elevation_id, e.scope
  from standing s
  cross join lateral jsonb_to_recordset(s.elevations) as
    e (id uuid, scope text, tenant_id uuid, project_id uuid, actions jsonb, starts_at timestamptz, ends_at timestamptz)
  where s.actor_type = 'user' and e.actions ? s.action and e.starts_at <= s.now and s.now < e.ends_at
    and case e.scope when 'global' then true when 'tenant' then e.tenant_id = s.tenant when 'project' then e.project_id = s.project end
  order by s.id, case e.scope when 'project' then 1 when 'tenant' then 2 else 3 end, e.id),
before_rules as materialized (
  select s.*, held.has_override, e.elevation_id, e.scope as elevation_scope,
    case
      -- What concerns the machine itself lies in no place.
      when s.is_by_class and s.tier = 'platform' then true
      when s.actor_type = 'shared_runtime_operator' and not coalesce(
        s.token ->> 'tenant_id' is not null and (s.token ->> 'shared_runtime_id')::uuid = s.actor_id and s.runtime = s.actor_id, false) then false
      else s.token is null or (
        coalesce((s.token ->> 'tenant_id')::uuid = s.tenant, s.token ->> 'tenant_id' is null)
        and coalesce((s.token ->> 'project_id')::uuid = s.project, s.token ->> 'project_id' is null)
        and (s.token ->> 'project_id' is null or s.tier = 'project' or s.action = 'project.read')
        and (s.token ->> 'actions' is null or s.token -> 'actions' ? s.action or s.is_by_class
          -- That no token of an operator carries what it can not have says nothing.
          or (s.actor_type = 'shared_runtime_operator' and not s.is_listed)))
    end as is_within_token,
    case
      when s.tier = 'platform' then true
      when s.actor_type = 'shared_runtime_operator' then s.in_tenant and case
        when s.action = 'shared_runtime.attach' then s.may_be_attached or not s.is_listed
        else s.project is null or s.in_project
      end
      when s.tier = 'tenant' then s.in_tenant or (s.action = 'project.read' and s.in_project)
      else s.in_project
    end as is_member,
    s.is_by_class or case s.actor_type
      when 'shared_runtime_operator' then s.is_listed
      else held.is_given
        or s.is_related
        or (s.action = 'tenant.project.read_own' and s.in_tenant)
        or (s.action = 'project.read' and s.in_project)
    end as is_permitted,
    held.is_given_disabled,
    case
      when s.is_read then null
      when s.tenant_state = 'suspended' then 'tenant'
      when s.project_state = 'archived' then 'project'
    end as frozen_scope
  from standing s join held on held.id = s.id left join elevated e on e.id = s.id),

-- ── Which rules count ───────────────────────────────────────────────────────────────────────────────────────────────────────────
rule as materialized (
  select row_number() over () as rule_id, c.key, c.scope_type, coalesce(c.project_id, c.tenant_id) as scope_id, c.actions, c.condition, c.time_zone,
    c.state = 'active' as is_active, c.state = 'active' and c.is_locked as is_locked,
    case c.scope_type when 'global' then 1 when 'tenant' then 2 else 3 end as breadth
  from policy_constraints c where c.replaced_at is null),
-- Only where an answer can still depend on them; what belongs to the person no rule reaches.
open_to_rules as materialized (
  select * from before_rules
  where not is_disabled and is_within_token and not (has_override and is_eligible) and not is_personal
    and (elevation_id is not null or (is_member and is_permitted and frozen_scope is null))),
on_chain as (
  select b.id, rule.* from open_to_rules b join rule on rule.scope_type = 'global'
  union all
  select b.id, rule.* from open_to_rules b join rule on rule.scope_type = 'tenant' and rule.scope_id = b.tenant and b.tier <> 'platform'
    and b.action not in ('tenant.policy.read', 'tenant.policy.write')
  union all
  select b.id, rule.* from open_to_rules b join rule on rule.scope_type = 'project' and rule.scope_id = b.project and b.tier <> 'platform'
    and b.action not in ('tenant.policy.read', 'tenant.policy.write')),
counting as (
  select distinct on (id, key) *
  from on_chain
  order by id, key, is_locked desc, case when is_locked then breadth else -breadth end),
covering as materialized (
  select c.id, c.rule_id, c.key, c.scope_type, c.breadth, c.is_locked, c.time_zone
  from counting c join open_to_rules b on b.id = c.id
  where c.is_active and exists (
    select from unnest(c.actions) named
    where named = b.action or (right(named, 2) = '.*' and starts_with(b.action, left(named, -1))))),

-- ── Conditions, taken apart: each group of tests is a node; groups nest twice ───────────────────────────────────────────────────
root as (
  select rule_id, condition as body from rule where rule_id in (select rule_id from covering)),
inner_group as (
  select rule_id, row_number() over () as node, part.kind, part.body
  from root, lateral (
    select 'any' as kind, value as body from jsonb_array_elements(root.body -> 'any')
    union all select 'not', root.body -> 'not' where root.body ? 'not') part),
innermost_group as (
  select rule_id, node as parent, row_number() over () as node, part.kind, part.body
  from inner_group, lateral (
    select 'any' as kind, value as body from jsonb_array_elements(inner_group.body -> 'any')
    union all select 'not', inner_group.body -> 'not' where inner_group.body ? 'not') part),
group_node (rule_id, level, node, parent, kind, body) as (
  select rule_id, 0, 0::bigint, null::bigint, null, body from root
  union all select rule_id, 1, node, 0, kind, body from inner_group
  union all select rule_id, 2, node, parent, kind, body from innermost_group),
test (rule_id, level, node, operator, attribute, operand) as (
  select g.rule_id, g.level, g.node, part.key, tested.attribute, tested.operand
  from group_node g
  cross join lateral jsonb_each(g.body) part
  cross join lateral (
    select value #>> '{}' as attribute, null::jsonb as operand
    from jsonb_array_elements(case when jsonb_typeof(part.value) = 'array' then part.value else '[]' end) value
    union all
    select key, value from jsonb_each(case when jsonb_typeof(part.value) = 'object' then part.value else '{}' end)) tested
  where part.key not in ('any', 'not')),

-- ── What the request carries, each attribute null where it cannot be read ───────────────────────────────────────────────────────
carried as materialized (
  select b.id, b.resource_type, b.actor_type,
    jsonb_strip_nulls(b.attributes) as raw,
    case when jsonb_typeof(b.attributes -> 'gpus') = 'number' then
      case when trunc((b.attributes -> 'gpus')::numeric) = (b.attributes -> 'gpus')::numeric then (b.attributes -> 'gpus')::numeric end
    end as gpus,
    case when jsonb_typeof(b.attributes -> 'flags') = 'array' then
      case when not exists (select from jsonb_array_elements(b.attributes -> 'flags') flag where jsonb_typeof(flag) <> 'string')
        then b.attributes -> 'flags' end
    end as flags,
    address.plain as address,
    case
      when coalesce(jsonb_typeof(b.attributes -> 'time'), 'null') = 'null' then b.now
      when jsonb_typeof(b.attributes -> 'time') = 'string' then instant.moment
    end as moment
  from open_to_rules b
  cross join lateral (select case when jsonb_typeof(b.attributes -> 'source_ip') = 'string' then b.attributes ->> 'source_ip' end as ip) written_ip
  -- Four numbers at the end of an IPv6 address stand for its last two groups.
  cross join lateral (select regexp_replace(ip, '(?<=:)(\d{1,3}\.){3}\d{1,3}$', '0:0') as groups,
    (regexp_match(ip, '(?:^|:)((?:\d{1,3}\.){3}\d{1,3})$'))[1] as quad) spelled
  cross join lateral (select
    coalesce(quad ~ '^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$', true) as has_fair_quad,
    quad is not distinct from ip as is_quad,
    cardinality(array_remove(string_to_array(groups, ':'), '')) as counted) looked
  cross join lateral (select case
    when ip is null or not has_fair_quad then null
    when is_quad then ip::inet
    when groups ~* '^[0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}$' then ip::inet
    when groups ~* '^([0-9a-f]{1,4}(:[0-9a-f]{1,4})*)?::([0-9a-f]{1,4}(:[0-9a-f]{1,4})*)?$' and counted <= 7 then ip::inet
  end as parsed) read_ip
  cross join lateral (select case
    when parsed <<= inet '::ffff:0.0.0.0/96' then inet '0.0.0.0' + (parsed - inet '::ffff:0.0.0.0')
    else parsed
  end as plain) address
  cross join lateral (select case
    when jsonb_typeof(b.attributes -> 'time') = 'string'
      and b.attributes ->> 'time' ~ '^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$'
    then b.attributes ->> 'time' end as well_formed) shaped
  cross join lateral (select case
    when substr(well_formed, 9, 2)::int
      <= extract(day from (substr(well_formed, 1, 7) || '-01')::date + interval '1 month' - interval '1 day')
    -- The part of a second changes no minute, and rounding it could.
    then regexp_replace(well_formed, '\.\d+', '')::timestamptz end as moment) instant),

-- ── True, false or unknown: SQL's own three values ──────────────────────────────────────────────────────────────────────────────
asked_of as materialized (
  select c.id, c.rule_id, carried.*, carried.moment at time zone c.time_zone as local_time
  from covering c join (select id as of_question, resource_type, actor_type, raw, gpus, flags, address, moment from carried) carried on carried.of_question = c.id),
tested as materialized (
  select a.id, a.rule_id, t.level, t.node,
    case
      when t.operator in ('present', 'absent') then (t.operator = 'present') = (
        t.attribute in ('resource_type', 'actor_type', 'minute_of_day', 'weekday') or a.raw ? t.attribute)
      when t.operator in ('in', 'not_in') then (t.operator = 'in') = case
        when t.attribute in ('region', 'sku') and jsonb_typeof(a.raw -> t.attribute) = 'string' then t.operand ? (a.raw ->> t.attribute)
        when t.attribute = 'resource_type' then t.operand ? a.resource_type
        when t.attribute = 'actor_type' then t.operand ? a.actor_type
        when t.attribute = 'weekday' then t.operand @> to_jsonb(extract(isodow from a.local_time))
      end
      when t.operator = 'at_least' and t.attribute = 'gpus' then a.gpus >= t.operand::numeric
      when t.operator = 'at_most' and t.attribute = 'gpus' then a.gpus <= t.operand::numeric
      when t.operator = 'has_any' and t.attribute = 'flags' then a.flags ?| array(select jsonb_array_elements_text(t.operand))
      when t.operator = 'has_all' and t.attribute = 'flags' then a.flags ?& array(select jsonb_array_elements_text(t.operand))
      when t.operator = 'has_none' and t.attribute = 'flags' then not a.flags ?| array(select jsonb_array_elements_text(t.operand))
      when t.operator in ('within', 'not_within') and t.attribute = 'source_ip' and a.address is not null then
        (t.operator = 'within') = exists (select from jsonb_array_elements_text(t.operand) range where a.address <<= range::inet)
      when t.operator = 'between' and t.attribute = 'minute_of_day' then (
        select case
          when from_minute < until_minute then minute >= from_minute and minute < until_minute
          when from_minute > until_minute then minute >= from_minute or minute < until_minute
          else false
        end
        from (select extract(hour from a.local_time) * 60 + extract(minute from a.local_time) as minute,
          (t.operand ->> 0)::int as from_minute, (t.operand ->> 1)::int as until_minute) day
        where minute is not null)
    end as holds
  from asked_of a join test t on t.rule_id = a.rule_id),
own_tests as (
  select id, rule_id, level, node,
    case when bool_or(not holds) then false when bool_or(holds is null) then null else true end as holds
  from tested group by id, rule_id, level, node),
node_value as (
  select c.id, c.rule_id, g.level, g.node, g.parent, g.kind, case when o.id is null then true else o.holds end as holds
  from covering c
  join group_node g on g.rule_id = c.rule_id
  left join own_tests o on o.id = c.id and o.rule_id = c.rule_id and o.level = g.level and o.node = g.node),
innermost as (
  select id, rule_id, parent,
    case when bool_or(holds) filter (where kind = 'any') then true
      when bool_or(holds is null) filter (where kind = 'any') then null
      else count(*) filter (where kind = 'any') = 0 end as one_of_any,
    -- There is one `not` at most; of none, nothing is asked.
    case when count(*) filter (where kind = 'not') = 0 then true else bool_and(not holds) filter (where kind = 'not') end as is_not
  from node_value where level = 2 group by id, rule_id, parent),
inner_value as (
  select n.id, n.rule_id, n.kind,
    n.holds and case when i.id is null then true else i.one_of_any and i.is_not end as holds
  from node_value n left join innermost i on i.id = n.id and i.rule_id = n.rule_id and i.parent = n.node
  where n.level = 1),
below_root as (
  select id, rule_id,
    case when bool_or(holds) filter (where kind = 'any') then true
      when bool_or(holds is null) filter (where kind = 'any') then null
      else count(*) filter (where kind = 'any') = 0 end as one_of_any,
    case when count(*) filter (where kind = 'not') = 0 then true else bool_and(not holds) filter (where kind = 'not') end as is_not
  from inner_value group by id, rule_id),
denying as (
  select c.id, c.key, c.scope_type, c.breadth, c.is_locked
  from covering c
  join node_value n on n.id = c.id and n.rule_id = c.rule_id and n.level = 0
  left join below_root r on r.id = c.id and r.rule_id = c.rule_id
  where (n.holds and case when r.id is null then true else r.one_of_any and r.is_not end) is not false),
widest as (
  select distinct on (id) id, scope_type from denying order by id, breadth, key collate "C"),
widest_locked as (
  select distinct on (id) id, scope_type from denying where is_locked order by id, breadth, key collate "C"),

-- ── The order of the steps is the specification ─────────────────────────────────────────────────────────────────────────────────
step as (
  select b.*, widest.scope_type as rule_scope, widest_locked.scope_type as locked_scope,
    case
      when b.is_disabled then 'actor_disabled'
      when not b.is_within_token then 'scope_mismatch'
      when b.has_override and b.is_eligible then 'override'
      when b.elevation_id is not null and widest_locked.id is null then 'elevation'
      when b.elevation_id is not null then 'locked'
      when not b.is_member then 'membership_missing'
      when not b.is_permitted and b.is_given_disabled then 'role_disabled'
      when not b.is_permitted then 'permission_denied'
      when b.frozen_scope is not null then 'frozen'
      when widest.id is not null then 'rule'
      else 'roles'
    end as name
  from before_rules b
  left join widest on widest.id = b.id
  left join widest_locked on widest_locked.id = b.id)
select id,
  case when name in ('override', 'elevation', 'roles') then 'allow' else 'deny' end as decision,
  case
    when name in ('override', 'elevation', 'roles') then null
    when name in ('locked', 'frozen', 'rule') then 'policy_constraint_denied'
    else name
  end as reason_code,
  case
    when name in ('actor_disabled', 'override') then 'global'
    when name = 'elevation' then elevation_scope
    when name = 'locked' then locked_scope
    when name = 'frozen' then frozen_scope
    when name = 'rule' then rule_scope
    when tier = 'platform' then 'global'
    else tier
  end as applied_scope,
  case when name in ('locked', 'rule') then 'policy_values' else 'in_code' end as policy_source,
  case when name = 'elevation' then elevation_id end as break_glass_id
from step
order by id
