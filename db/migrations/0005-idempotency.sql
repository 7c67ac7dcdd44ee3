-- One answer per caller and key for a day. Rows are inserted at the start of the work, so a concurrent duplicate waits on the index.

-- room: http
create table idempotency_keys (
  actor_type             text not null,
  actor_id               text not null,
  key                    text not null check (length(key) between 1 and 128),
  request_hash           text not null,
  -- What was decided, so that a replay is judged again before it reveals anything.
  decided                jsonb not null default '[]',
  status                 integer,
  reply                  jsonb,
  -- Where the answer held a secret, only this is kept of it.
  credential_session_id  text,
  created_at             timestamptz not null,
  expires_at             timestamptz not null,
  primary key (actor_type, actor_id, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
