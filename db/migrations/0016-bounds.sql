-- What lets rows go that nobody needs any more.

-- Tokens are issued in about the order in which they expire: a summary of pages finds the old ones, and costs an issuance almost nothing.
create index issued_tokens_expired on issued_tokens using brin (expires_at) with (pages_per_range = 32, autosummarize = on);
-- A token goes after those that were exchanged for it; without this each deletion would read the whole table.
create index issued_tokens_children on issued_tokens (parent_id) where parent_id is not null;

-- A token past its time counts nowhere, so that its row goes changes no answer. Who deletes a live one still moves the epoch.
drop trigger issued_tokens_move_epoch on issued_tokens;
create constraint trigger issued_tokens_move_epoch after update on issued_tokens deferrable initially deferred
  for each row execute function move_epoch_of_row('project');
create constraint trigger issued_tokens_gone_move_epoch after delete on issued_tokens deferrable initially deferred
  for each row when (old.expires_at > now()) execute function move_epoch_of_row('project');
