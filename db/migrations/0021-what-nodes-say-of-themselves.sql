-- Which protocol a node speaks, what it says of itself, what it is stuck with, and which GPUs of it an allocation has.

alter table nodes
  add column protocol_version integer not null default 1 check (protocol_version between 1 and 9999),
  add column described_at timestamptz,
  -- [{ index, paths }], in the order of their indexes.
  add column devices jsonb not null default '[]' check (jsonb_typeof(devices) = 'array'),
  add column shared_devices text[] not null default '{}',
  add column ssh_host text check (ssh_host ~ '^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$'),
  add column ssh_port integer check (ssh_port between 1 and 65535),
  add column ssh_host_keys text[] not null default '{}',
  -- [{ step, allocation_id, since }], the oldest first.
  add column stuck_steps jsonb not null default '[]' check (jsonb_typeof(stuck_steps) = 'array'),
  add constraint nodes_described_whole check (num_nulls(described_at, ssh_host, ssh_port) in (0, 3));

alter table allocations add constraint allocations_on_its_node unique (id, node_id);

-- Which GPUs an allocation has, from its placement until nothing of it is left on the node.
-- room: allocations
create table allocation_devices (
  allocation_id  uuid not null,
  node_id        uuid not null,
  device_index   integer not null check (device_index between 0 and 1023),
  held_since     timestamptz not null,
  released_at    timestamptz check (released_at >= held_since),
  primary key (allocation_id, device_index),
  constraint allocation_devices_of_allocation foreign key (allocation_id, node_id) references allocations (id, node_id)
);
create unique index allocation_devices_held_once on allocation_devices (node_id, device_index) where released_at is null;
