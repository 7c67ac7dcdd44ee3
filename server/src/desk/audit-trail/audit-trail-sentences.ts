/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const auditTrailSentences = {
  done: {
    'audit_log.list_all': 'read the record of the platform',
    'audit_log.list_of_organization': 'read the record of the organization',
    'audit_log.list_of_project': 'read the record of the project',
    'audit_log.verify': 'verified the record',
  },
} as const
