-- This installation: who it is, how often it was restored, and the secrets it made for itself, sealed.

-- room: installation
create table installation (
  -- There is one.
  is_one             boolean primary key default true check (is_one),
  id                 uuid not null,
  -- Machine tokens and node states of an earlier epoch do not count: a restored backup revives nothing.
  epoch              integer not null default 1 check (epoch > 0),
  -- A restored database is served only after an operator has accepted that, which begins a new epoch.
  is_restored        boolean not null default false,
  checkpoint_number  bigint not null default 0 check (checkpoint_number >= 0),
  created_at         timestamptz not null default now()
);
insert into installation (id) values (gen_random_uuid());

-- room: installation
create table installation_secrets (
  name        text primary key check (name ~ '^[a-z][a-z_]*$'),
  envelope    jsonb not null,
  created_at  timestamptz not null
);
