-- What happened and what was refused, one hash chain per tenant and one for the platform. The application may add rows and read
-- them, nothing else (see grants.sql); whoever can do more leaves a trace that verification finds.

-- room: audit
create table audit_logs (
  chain_id        uuid not null,
  seq             bigint not null check (seq > 0),
  id              uuid not null,
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
  -- json, not jsonb: the text is part of what is hashed and must stay as it was written.
  metadata        json not null,
  hash            bytea not null check (length(hash) = 32),
  primary key (chain_id, seq),
  constraint audit_logs_id_once unique (id),
  constraint audit_logs_chain check (chain_id = coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')),
  constraint audit_logs_reason check ((result = 'success') = (reason_code is null)),
  constraint audit_logs_project foreign key (project_id, tenant_id) references projects (id, org_id)
);
create index audit_logs_of_tenant on audit_logs (tenant_id, id);
create index audit_logs_of_project on audit_logs (project_id, id) where project_id is not null;
create index audit_logs_of_correlation on audit_logs (correlation_id);

-- The end of each chain. Its row lock is what makes a chain a chain; it is taken last in a transaction.
-- room: audit
create table audit_heads (
  chain_id  uuid primary key,
  seq       bigint not null check (seq >= 0),
  hash      bytea not null check (length(hash) = 32)
);
