-- Machines: service accounts and their keys, the keys that tokens are signed with, and what was issued.

-- room: service-accounts
create table service_accounts (
  id              uuid primary key,
  org_id          uuid not null,
  project_id      uuid not null,
  name            text not null check (length(name) between 1 and 100),
  slug            text not null check (slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' and length(slug) <= 63),
  state           text not null default 'active' check (state in ('active', 'disabled', 'deleted')),
  created_at      timestamptz not null,
  created_by      uuid references users,
  disabled_at     timestamptz,
  disabled_by     uuid references users,
  disable_reason  text,
  -- What the platform disabled, only the platform enables.
  is_disabled_by_platform boolean not null default false,
  deleted_at      timestamptz,
  deleted_by      uuid references users,
  delete_reason   text,
  constraint service_accounts_of_project foreign key (project_id, org_id) references projects (id, org_id),
  constraint service_accounts_in_project unique (id, project_id),
  constraint service_accounts_disabled_whole check (
    num_nulls(disabled_at, disabled_by, disable_reason) in (0, 3) and (state <> 'disabled' or disabled_at is not null)
    and (state <> 'active' or disabled_at is null) and (disabled_at is not null or not is_disabled_by_platform)),
  constraint service_accounts_end_whole check (
    num_nulls(deleted_at, deleted_by, delete_reason) in (0, 3) and (state = 'deleted') = (deleted_at is not null))
);
create unique index service_account_already_exists on service_accounts (project_id, slug) where deleted_at is null;

-- room: service-accounts
create table service_account_keys (
  -- Public: its owner sends it along with the secret.
  id                  uuid primary key,
  service_account_id  uuid not null references service_accounts,
  -- One that has a secret keeps these two.
  salt                bytea check (length(salt) = 16),
  -- Of the salt and a secret with 256 bits of chance in it: there is nothing to guess, so nothing has to be slow.
  secret_hash         bytea check (length(secret_hash) = 32),
  -- One whose private part never came here keeps these two.
  alg                 text check (alg in ('ES256', 'EdDSA', 'RS256')),
  public_jwk          jsonb check (jsonb_typeof(public_jwk) = 'object' and not public_jwk ?| array['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']),
  -- Of the installation, when it was made: a restored backup revives none, since it may have been revoked after the backup.
  epoch               integer not null check (epoch > 0),
  created_at          timestamptz not null,
  created_by          uuid not null references users,
  expires_at          timestamptz,
  -- To the minute: who uses a key in every second must not write in every second.
  last_used_at        timestamptz,
  revoked_at          timestamptz,
  revoked_by          uuid references users,
  revoke_reason       text,
  constraint service_account_keys_one_kind check (
    num_nonnulls(salt, secret_hash) in (0, 2) and num_nonnulls(alg, public_jwk) in (0, 2) and (salt is null) <> (alg is null)),
  constraint service_account_keys_revoked_whole check (num_nulls(revoked_at, revoked_by, revoke_reason) in (0, 3))
);
create index service_account_keys_of_account on service_account_keys (service_account_id);

-- Whom a binding names must exist, and a service account in the binding's own project.
alter table project_role_bindings
  add column service_account_id uuid generated always as (case when principal_type = 'service_account' then principal_id end) stored,
  add column user_id uuid generated always as (case when principal_type = 'user' then principal_id end) stored,
  add constraint project_role_bindings_service_account foreign key (service_account_id, project_id)
    references service_accounts (id, project_id),
  add constraint project_role_bindings_user foreign key (user_id) references users;

-- room: keys
create table signing_keys (
  kid             text primary key check (kid ~ '^[A-Za-z0-9_-]{8,128}$'),
  alg             text not null check (alg in ('ES256', 'EdDSA', 'HS256')),
  -- What everybody may know. A shared secret has no such part.
  public_jwk      jsonb,
  -- Where the private part is: here in an envelope, with a transit engine, or the envelope key itself.
  custody         text not null check (custody in ('envelope', 'transit', 'envelope_key')),
  envelope        jsonb,
  transit_name    text,
  transit_version integer,
  envelope_key_id text,
  -- Of the installation when it was made: what a backup brings back may have been revoked since.
  epoch           integer not null default 1 check (epoch > 0),
  state           text not null check (state in ('staged', 'active', 'grace', 'retired', 'revoked')),
  created_at      timestamptz not null,
  activated_at    timestamptz,
  -- No token signed with it lives longer.
  grace_until     timestamptz,
  ended_at        timestamptz,
  ended_by        uuid references users,
  end_reason      text,
  constraint signing_keys_public check ((alg = 'HS256') = (public_jwk is null)),
  constraint signing_keys_custody check (
    case custody
      when 'envelope' then alg <> 'HS256' and envelope is not null and num_nonnulls(transit_name, transit_version, envelope_key_id) = 0
      when 'transit' then alg <> 'HS256' and num_nonnulls(transit_name, transit_version) = 2 and num_nonnulls(envelope, envelope_key_id) = 0
      else alg = 'HS256' and envelope_key_id is not null and num_nonnulls(envelope, transit_name, transit_version) = 0
    end),
  constraint signing_keys_states check (
    case state
      when 'staged' then num_nonnulls(activated_at, grace_until, ended_at) = 0
      when 'active' then activated_at is not null and num_nonnulls(grace_until, ended_at) = 0
      when 'grace' then activated_at is not null and grace_until is not null and ended_at is null
      else ended_at is not null
    end)
);
create unique index signing_keys_one_active on signing_keys ((true)) where state = 'active';
create unique index signing_keys_one_staged on signing_keys ((true)) where state = 'staged';

-- room: tokens
create table issued_tokens (
  -- The token's jti, and the credential session's id.
  id                  uuid primary key,
  -- What was issued before what, also where the clock was set back in between.
  number              bigint generated always as identity,
  actor_type          text not null check (actor_type in ('service_account', 'shared_runtime_operator', 'workload', 'node_agent', 'platform_operator')),
  actor_id            uuid not null,
  -- The key of whoever asked for it: the subject itself, or who acts for it.
  credential_id       uuid,
  -- The token that it was exchanged for, with which it ends.
  parent_id           uuid references issued_tokens,
  org_id              uuid,
  project_id          uuid,
  -- Looked up in its own table only where no project says it already: each look costs more than the row.
  org_id_alone        uuid generated always as (case when project_id is null then org_id end) stored references organizations,
  -- What else it is bound to, by class.
  binding             jsonb not null default '{}',
  typ                 text not null,
  kid                 text not null references signing_keys,
  audience            text not null,
  scope               text[] not null,
  -- Whose proof must come along (the thumbprint of a key); null: whoever has the token may use it.
  cnf_jkt             text check (cnf_jkt ~ '^[A-Za-z0-9_-]{43}$'),
  -- Who acts for the subject, and for whom in turn; null: the subject itself.
  act                 jsonb check (jsonb_typeof(act) = 'object'),
  -- Of the installation: a restored backup revives nothing.
  epoch               integer not null check (epoch > 0),
  issued_at           timestamptz not null,
  expires_at          timestamptz not null check (expires_at > issued_at),
  source_workflow_id  text,
  reason              text,
  revoked_at          timestamptz,
  revoked_by          uuid,
  revoke_reason       text,
  constraint issued_tokens_in_project foreign key (project_id, org_id) references projects (id, org_id),
  constraint issued_tokens_revoked_whole check (num_nulls(revoked_at, revoked_by, revoke_reason) in (0, 3)),
  -- Whoever acts for somebody was given a token of his.
  constraint issued_tokens_acting check (act is null or parent_id is not null),
  constraint issued_tokens_bound check (
    case actor_type
      when 'service_account' then num_nonnulls(org_id, project_id, credential_id) = 3
      when 'shared_runtime_operator' then org_id is not null and project_id is null
      when 'workload' then num_nonnulls(org_id, project_id) = 2
      else project_id is null or org_id is not null
    end)
);
create index issued_tokens_of_project on issued_tokens (project_id, id);
create index issued_tokens_of_key on issued_tokens (kid, expires_at);

-- "Nothing that was issued until then", for one subject; of several the latest counts. One that was made for all that there was until it
-- was made says so by number as well: a clock that was set back takes nothing out of its reach.
-- room: tokens
create table token_cutoffs (
  id             uuid primary key,
  subject_type   text not null check (subject_type in ('platform', 'organization', 'project', 'actor', 'credential')),
  subject_id     uuid,
  -- In whose log it stands; null for the whole platform.
  org_id         uuid references organizations,
  issued_before  timestamptz not null,
  until_number   bigint check (until_number >= 0),
  created_at     timestamptz not null,
  created_by     text not null,
  reason         text not null,
  constraint token_cutoffs_subject check ((subject_type = 'platform') = (subject_id is null) and (subject_type = 'platform') = (org_id is null))
);
create index token_cutoffs_of_subject on token_cutoffs (subject_id, subject_type, issued_before);

-- What a caller signed to be used once, by the digest of its name: whoever writes the row has used it, everybody else comes too late.
-- room: oauth
create table used_proofs (
  kind        text not null check (kind in ('client_assertion', 'dpop')),
  -- The key that signed it: its id here, or its thumbprint.
  subject     text not null check (length(subject) between 1 and 64),
  jti_hash    bytea not null check (length(jti_hash) = 32),
  -- From then on its own time refuses it.
  expires_at  timestamptz not null,
  primary key (kind, subject, jti_hash)
);
create index used_proofs_by_end on used_proofs (expires_at);

create or replace function epoch_of_row(kind text, changed jsonb) returns uuid language sql stable as $$
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
      when 'service_account_key' then (
        select s.org_id from service_accounts s where s.id = (changed ->> 'service_account_id')::uuid)
    end,
    -- What lies in no tenant concerns the platform.
    '00000000-0000-0000-0000-000000000000')
$$;

create constraint trigger service_accounts_move_epoch after insert or update or delete on service_accounts deferrable initially deferred
  for each row execute function move_epoch_of_row('project');
-- Nobody keeps that a key is unknown, and that it was used changes nothing.
create constraint trigger service_account_keys_move_epoch after update on service_account_keys deferrable initially deferred
  for each row when (
    (old.service_account_id, old.salt, old.secret_hash, old.alg, old.public_jwk, old.epoch, old.expires_at, old.revoked_at)
    is distinct from (new.service_account_id, new.salt, new.secret_hash, new.alg, new.public_jwk, new.epoch, new.expires_at, new.revoked_at))
  execute function move_epoch_of_row('service_account_key');
create constraint trigger service_account_keys_gone_move_epoch after delete on service_account_keys deferrable initially deferred
  for each row execute function move_epoch_of_row('service_account_key');
create constraint trigger signing_keys_move_epoch after insert or update or delete on signing_keys deferrable initially deferred
  for each row execute function move_epoch_of_row('platform');
-- A token that nobody has seen yet is kept by nobody.
create constraint trigger issued_tokens_move_epoch after update or delete on issued_tokens deferrable initially deferred
  for each row execute function move_epoch_of_row('project');
create constraint trigger token_cutoffs_move_epoch after insert or update or delete on token_cutoffs deferrable initially deferred
  for each row execute function move_epoch_of_row('project');
create constraint trigger installation_move_epoch after update on installation deferrable initially deferred
  for each row when (old.epoch is distinct from new.epoch) execute function move_epoch_of_row('platform');
