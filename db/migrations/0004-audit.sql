-- What happened and what was refused. The application may add rows and read them, nothing else (see grants.sql).

-- room: audit
create table audit_logs (
  id              uuid primary key,
  occurred_at     timestamptz not null,
  correlation_id  text not null check (length(correlation_id) between 1 and 128),
  actor_type      text not null,
  actor_id        text,
  platform_role   text,
  -- Null: the platform's own log, which also holds what crossed tenants.
  tenant_id       uuid references organizations,
  project_id      uuid,
  resource_type   text not null,
  resource_id     text,
  resource_name   text,
  action          text not null,
  result          text not null check (result in ('success', 'denied', 'failed')),
  reason_code     text,
  severity        text not null check (severity in ('info', 'warning', 'high')),
  metadata        jsonb not null default '{}',
  constraint audit_logs_reason check ((result = 'success') = (reason_code is null)),
  constraint audit_logs_project foreign key (project_id, tenant_id) references projects (id, org_id)
);
create index audit_logs_of_tenant on audit_logs (tenant_id, id);
