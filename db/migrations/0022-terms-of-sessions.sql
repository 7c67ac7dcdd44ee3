-- A limit may also be none at all; and what a change of policy has yet to bring to a node.

alter table policy_definitions drop constraint policy_definitions_type_check;
alter table policy_definitions add constraint policy_definitions_type_check
  check (type in ('integer', 'integer_or_null', 'number', 'boolean', 'string_list', 'scope_map', 'choice'));

-- Since when a policy says something else of its sessions than the node was last told; null: nothing else.
alter table allocations add column terms_due_at timestamptz;
create index allocations_terms_due on allocations (id) where terms_due_at is not null;
