-- Who else of the same issuer holds an address: asked whenever an invitation is looked for by one.
create index users_by_address on users (oidc_issuer, lower(email collate "C")) where email_verified;
