-- What a machine authenticated with, beside who it is: after a credential or a token has leaked, its rows can be found. Null for people,
-- for the product itself, and in rows that are older than these columns. Texts, like actor_id: the
-- credential of a node is a certificate, whose id is no UUID.
alter table audit_logs add column credential_id text, add column jti text;
create index audit_logs_of_credential on audit_logs (credential_id, id) where credential_id is not null;
create index audit_logs_of_token on audit_logs (jti, id) where jti is not null;
