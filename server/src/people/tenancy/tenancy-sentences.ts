/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const tenancySentences = {
  done: {
    'organization.create': 'created the organization {slug}',
    'organization.member.remove': 'ended the membership of {user_id} in the organization',
    'organization.resume': 'resumed the organization',
    'organization.suspend': 'suspended the organization',
    'organization.update': 'renamed the organization',
    'project.archive': 'archived the project',
    'project.create': 'created the project {slug}',
    'project.member.remove': 'ended the membership of {user_id} in the project',
    'project.restore': 'restored the project',
    'project.update': 'renamed the project',
  },
} as const
