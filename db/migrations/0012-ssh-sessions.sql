-- Who was on an allocation, and what nodes have told of.

-- room: ssh-sessions
create table ssh_sessions (
  id             uuid primary key,
  node_id        uuid not null references nodes,
  -- As the node calls it.
  session_id     text not null check (session_id ~ '^[A-Za-z0-9._-]{1,100}$'),
  allocation_id  uuid not null references allocations,
  fingerprint    text not null check (fingerprint ~ '^SHA256:[A-Za-z0-9+/]{43}$'),
  -- Whose key it was by the set that was in force: sets change, this does not.
  user_ids       uuid[] not null,
  grant_ids      uuid[] not null,
  source_ip      text check (length(source_ip) <= 45),
  -- By the node's clock. Null: only its end has been told of.
  started_at     timestamptz,
  ended_at       timestamptz,
  end_cause      text check (end_cause in ('closed', 'key_removed', 'key_expired', 'account_removed', 'lost')),
  processes_ended integer check (processes_ended >= 0),
  -- Something that it started could not be told apart from others', and may still run.
  may_have_left_processes boolean,
  constraint ssh_sessions_told_of check (num_nonnulls(started_at, ended_at) > 0),
  constraint ssh_sessions_end_whole check (
    num_nulls(ended_at, end_cause) in (0, 2) and (ended_at is not null or num_nonnulls(processes_ended, may_have_left_processes) = 0))
);
create unique index ssh_sessions_one on ssh_sessions (node_id, session_id);
create index ssh_sessions_of_allocation on ssh_sessions (allocation_id, id);

-- Which have counted; kept as long as a node might repeat them.
-- room: ssh-sessions
create table node_events (
  node_id   uuid not null references nodes,
  event_id  uuid not null,
  told_at   timestamptz not null,
  primary key (node_id, event_id)
);
create index node_events_by_time on node_events (told_at);
