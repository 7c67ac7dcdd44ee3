/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const invitationsSentences = {
  done: {
    'invitation.accept': 'accepted an invitation as {role_name}',
    'invitation.create': 'invited {email} as {role_name}',
    'invitation.end': 'ended the invitation of {email}',
    'invitation.end_with_role': 'ended {count} invitations to the deleted role {role_name}',
    'invitation.end_with_membership': 'ended {count} invitations with the membership of {user_id}',
  },
} as const
