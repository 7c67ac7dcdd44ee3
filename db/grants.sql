-- What the application's database role may do; applied after each migration. `:app` is that role.
-- It owns nothing. It deletes nothing but idempotency keys, tokens long past their time, used proofs and ids of nodes' events past their time, deliveries that are long over, and members that a runtime no longer reports;
-- audit rows it can only add.
revoke all on all tables in schema public from :app;
revoke all on all sequences in schema public from :app;
grant usage on schema public to :app;
grant select, insert, update on
  users, organizations, projects, tenant_memberships, project_memberships,
  role_definitions, role_definition_versions, role_permissions,
  platform_role_bindings, tenant_role_bindings, project_role_bindings,
  policy_values, policy_constraints, epochs, invitations,
  service_accounts, service_account_keys, signing_keys, token_cutoffs,
  node_authorities, nodes, node_enrolments, node_certificates, task_signers, node_tasks,
  shared_app_runtimes, shared_runtime_attachments, shared_runtime_operator_credentials, shared_runtime_credentials,
  ssh_public_keys, allocations, allocation_ssh_public_keys, allocation_access_grants, allocation_devices, ssh_sessions
  to :app;
grant select on policy_definitions, schema_migrations to :app;
grant select, insert on audit_logs to :app;
grant select, insert, update on audit_heads to :app;
grant select, insert, update, delete on idempotency_keys, issued_tokens to :app;
grant select, insert, delete on used_proofs, node_events to :app;
grant select, insert, update, delete on wrapped_deliveries to :app;
-- The whole list of members comes anew with each report.
grant select, insert, update, delete on shared_runtime_members to :app;
grant select, update on installation to :app;
grant select, insert, update on installation_secrets to :app;
-- To say up to which token a cut-off reaches; numbers come with the rows, and nobody sets them.
grant select on sequence issued_tokens_number_seq to :app;
