/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const sshSessionsSentences = {
  done: {
    'allocation.access_drift': 'found the keys of the allocation changed by hand on the node ({found}), and put them right',
    'allocation.access_drift.not_restored': 'found access on the node other than it should be, and could not put it right ({failure})',
    'allocation.ssh_session.end': 'saw the session {session_id} of {whose} end ({end})',
    'allocation.ssh_session.start': 'saw a session begin with the key {fingerprint} of {whose}',
    'node.event.report': 'told what happened on it',
  },
} as const
