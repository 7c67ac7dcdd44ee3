-- Who there is and where they belong. A membership is ended, never deleted: the row says when, by whom and why.

-- room: principals
create table users (
  id              uuid primary key,
  username        text not null check (length(username) between 1 and 255),
  email           text check (length(email) between 3 and 320),
  email_verified  boolean not null default false,
  oidc_issuer     text not null,
  oidc_subject    text not null check (length(oidc_subject) between 1 and 255),
  -- Compatibility only: authority comes from platform_role_bindings.
  role            text not null default 'user' check (role in ('user', 'admin')),
  is_seeded       boolean not null default false,
  created_at      timestamptz not null,
  disabled_at     timestamptz,
  disabled_by     uuid references users,
  disable_reason  text,
  constraint users_one_per_subject unique (oidc_issuer, oidc_subject),
  constraint users_disabled_whole check (num_nulls(disabled_at, disabled_by, disable_reason) in (0, 3))
);

-- room: tenancy
create table organizations (
  id             uuid primary key,
  type           text not null check (type in ('personal', 'enterprise')),
  name           text not null check (length(name) between 1 and 100),
  slug           text not null check (slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' and length(slug) <= 63),
  state          text not null default 'active' check (state in ('active', 'suspended')),
  created_at     timestamptz not null,
  created_by     uuid references users,
  deleted_at     timestamptz,
  deleted_by     uuid references users,
  delete_reason  text,
  constraint organizations_end_whole check (num_nulls(deleted_at, deleted_by, delete_reason) in (0, 3))
);
create unique index organization_already_exists on organizations (slug) where deleted_at is null;

-- room: tenancy
create table projects (
  id          uuid primary key,
  org_id      uuid not null references organizations,
  name        text not null check (length(name) between 1 and 100),
  slug        text not null check (slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' and length(slug) <= 63),
  state       text not null default 'active' check (state in ('active', 'archived')),
  created_at  timestamptz not null,
  created_by  uuid references users,
  constraint project_already_exists unique (org_id, slug),
  -- So that what belongs to a project can prove whose it is with one foreign key.
  constraint projects_of_org unique (id, org_id)
);

-- room: tenancy
create table tenant_memberships (
  id             uuid primary key,
  tenant_id      uuid not null references organizations,
  user_id        uuid not null constraint user_not_found references users,
  created_at     timestamptz not null,
  created_by     uuid references users,
  deleted_at     timestamptz,
  deleted_by     uuid references users,
  delete_reason  text,
  constraint tenant_memberships_end_whole check ((deleted_at is null) = (delete_reason is null))
);
create unique index tenant_memberships_one_active on tenant_memberships (tenant_id, user_id) where deleted_at is null;
create index tenant_memberships_of_user on tenant_memberships (user_id) where deleted_at is null;

-- room: tenancy
create table project_memberships (
  id             uuid primary key,
  project_id     uuid not null references projects,
  user_id        uuid not null constraint user_not_found references users,
  created_at     timestamptz not null,
  created_by     uuid references users,
  deleted_at     timestamptz,
  deleted_by     uuid references users,
  delete_reason  text,
  constraint project_memberships_end_whole check ((deleted_at is null) = (delete_reason is null))
);
create unique index member_already_exists on project_memberships (project_id, user_id) where deleted_at is null;
create index project_memberships_of_user on project_memberships (user_id) where deleted_at is null;
