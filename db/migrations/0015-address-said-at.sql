-- Which token an e-mail address rests on, kept in the row so that every process and every restart agrees.

alter table users add column address_said_at timestamptz;

-- Tokens from before this migration no longer move an address: nobody knows which of them was the newest.
update users set address_said_at = now() where email is not null and not is_seeded;
