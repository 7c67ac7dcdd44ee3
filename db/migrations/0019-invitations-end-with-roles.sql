-- An invitation ends with the role that it offers. Those of roles that were deleted before this rule cannot be accepted either.
update invitations i set ended_at = transaction_timestamp(), end_reason = 'role_deleted'
  from role_definition_versions v join role_definitions d on d.id = v.role_definition_id
 where v.id = i.role_version_id and d.deleted_at is not null and i.accepted_at is null and i.ended_at is null;
