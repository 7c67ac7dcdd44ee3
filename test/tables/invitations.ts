import { inserting, type Tables } from './spelled.ts'

const invitation = (changed: Record<string, string> = {}) =>
  inserting('invitations', {
    id: ':new',
    tenant_id: ':aurora',
    email: `'ann@mail.example'`,
    role_version_id: ':auditor_1',
    inviter_user_id: ':ada',
    created_at: 'now()',
    ends_at: 'now()',
    ...changed,
  })

export const invitations: Tables = {
  names: [],
  world: `
  ${invitation({ id: ':offer' })};`,
  refused: [
    ['RP-33', 'an address invited twice', 'invitation_already_exists', invitation()],
    ['RP-33', 'an address with capitals', 'invitations_email_check', invitation({ email: `'Ann@mail.example'` })],
    ['RP-33', 'an address that is none', 'invitations_email_check', invitation({ email: `'@'` })],
    ['RP-33', 'an invitation into no organization', 'invitations_tenant_id_fkey', invitation({ tenant_id: ':nowhere' })],
    ['RP-33', "an invitation into another organization's project", 'invitations_project', invitation({ project_id: ':inference' })],
    ['RP-33', 'an invitation to no role', 'invitations_role_version_id_fkey', invitation({ email: `'x@y'`, role_version_id: ':nowhere' })],
    ['RP-33', 'an invitation by nobody', 'invitations_inviter_user_id_fkey', invitation({ email: `'x@y'`, inviter_user_id: ':nowhere' })],
    [
      'RP-33',
      'an invitation accepted by nobody',
      'invitations_accepted_whole',
      'update invitations set accepted_at = now() where id = :offer',
    ],
    [
      'RP-33',
      'an invitation accepted by somebody unknown',
      'invitations_accepted_by_fkey',
      'update invitations set accepted_at = now(), accepted_by = :nowhere where id = :offer',
    ],
    ['RP-33', 'an invitation ended without a reason', 'invitations_end_whole', 'update invitations set ended_at = now() where id = :offer'],
    [
      'RP-33',
      'an invitation ended by somebody unknown',
      'invitations_ended_by_fkey',
      `update invitations set ended_at = now(), ended_by = :nowhere, end_reason = 'x' where id = :offer`,
    ],
    [
      'RP-33',
      'an invitation both accepted and ended',
      'invitations_one_end',
      `update invitations set accepted_at = now(), accepted_by = :ada, ended_at = now(), end_reason = 'x' where id = :offer`,
    ],
  ],
  allowed: [
    ['one address invited into an organization and into its project', invitation({ project_id: ':training' })],
    ['an address invited again after the first has ended', `update invitations set ended_at = now(), end_reason = 'x'; ${invitation()}`],
  ],
}
