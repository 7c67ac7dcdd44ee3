import type { Tables } from './spelled.ts'

const user = (columns: string, values: string) =>
  `insert into users (id, oidc_issuer, created_at${columns}) values (:new, 'https://id.example', now()${values})`
const org = (type: string, name: string, slug: string) =>
  `insert into organizations (id, type, name, slug, created_at) values (:new, '${type}', '${name}', '${slug}', now())`
const project = (org_id: string, name: string, slug: string) =>
  `insert into projects (id, org_id, name, slug, created_at) values (:new, :${org_id}, '${name}', '${slug}', now())`

export const tenancy: Tables = {
  names: ['users', 'organizations', 'projects', 'tenant_memberships', 'project_memberships'],
  world: `
  insert into users (id, username, oidc_issuer, oidc_subject, created_at)
    values (:ada, 'ada', 'https://id.example', 'ada', now()), (:bob, 'bob', 'https://id.example', 'bob', now());
  insert into organizations (id, type, name, slug, created_at)
    values (:aurora, 'enterprise', 'Aurora', 'aurora', now()), (:borealis, 'enterprise', 'Borealis', 'borealis', now());
  insert into projects (id, org_id, name, slug, created_at)
    values (:training, :aurora, 'Training', 'training', now()), (:inference, :borealis, 'Inference', 'inference', now());
  insert into tenant_memberships (id, tenant_id, user_id, created_at) values (:new, :aurora, :ada, now());
  insert into project_memberships (id, project_id, user_id, created_at) values (:new, :training, :ada, now());`,
  refused: [
    ['RP-27', 'two people with one subject of one issuer', 'users_one_per_subject', user(', username, oidc_subject', ", 'x', 'ada'")],
    ['RP-27', 'a person without a name', 'users_username_check', user(', username, oidc_subject', ", '', 'x'")],
    ['RP-27', 'a person without a subject', 'users_oidc_subject_check', user(', username, oidc_subject', ", 'x', ''")],
    ['RP-27', 'an address that is none', 'users_email_check', user(', username, oidc_subject, email', ", 'x', 'x', '@'")],
    ['RP-27', 'a compatibility role that is none', 'users_role_check', user(', username, oidc_subject, role', ", 'x', 'x', 'root'")],
    [
      'RP-27',
      'a person disabled without a reason',
      'users_disabled_whole',
      'update users set disabled_at = now(), disabled_by = :bob where id = :ada',
    ],
    ['RP-27', 'an unknown type of organization', 'organizations_type_check', org('club', 'X', 'x')],
    ['RP-27', 'an organization without a name', 'organizations_name_check', org('personal', '', 'x')],
    ['RP-27', 'a slug with a capital letter', 'organizations_slug_check', org('personal', 'X', 'Xx')],
    ['RP-27', 'a slug that begins with a hyphen', 'organizations_slug_check', org('personal', 'X', '-x')],
    ['RP-27', 'a slug of 64 letters', 'organizations_slug_check', org('personal', 'X', 'x'.repeat(64))],
    ['RP-27', 'a slug of an active organization once more', 'organization_already_exists', org('personal', 'X', 'aurora')],
    [
      'RP-27',
      'an unknown state of an organization',
      'organizations_state_check',
      `update organizations set state = 'deleted' where id = :aurora`,
    ],
    ['RP-27', 'an organization half deleted', 'organizations_end_whole', 'update organizations set deleted_at = now() where id = :aurora'],
    ['RP-27', 'a project without a name', 'projects_name_check', project('aurora', '', 'x')],
    ['RP-27', 'a project with a bad slug', 'projects_slug_check', project('aurora', 'X', 'x_x')],
    ['RP-27', 'a project of the same slug in the same organization', 'project_already_exists', project('aurora', 'X', 'training')],
    ['RP-27', 'an unknown state of a project', 'projects_state_check', `update projects set state = 'deleted' where id = :training`],
    [
      'RP-21',
      'a second active membership of one tenant',
      'tenant_memberships_one_active',
      'insert into tenant_memberships (id, tenant_id, user_id, created_at) values (:new, :aurora, :ada, now())',
    ],
    [
      'RP-21',
      'a tenant membership ended without a reason',
      'tenant_memberships_end_whole',
      'update tenant_memberships set deleted_at = now()',
    ],
    [
      'RP-21',
      'a second active membership of one project',
      'member_already_exists',
      'insert into project_memberships (id, project_id, user_id, created_at) values (:new, :training, :ada, now())',
    ],
    [
      'RP-21',
      'a project membership ended without a reason',
      'project_memberships_end_whole',
      'update project_memberships set deleted_at = now()',
    ],
  ],
  allowed: [
    [
      'a slug again when its organization is deleted',
      `update organizations set deleted_at = now(), deleted_by = :ada, delete_reason = 'x' where id = :aurora; ${org('personal', 'X', 'aurora')}`,
    ],
    ['the same project slug in another organization', project('borealis', 'X', 'training')],
    [
      'a membership again after it ended',
      `update tenant_memberships set deleted_at = now(), delete_reason = 'x'; insert into tenant_memberships (id, tenant_id, user_id, created_at) values (:new, :aurora, :ada, now())`,
    ],
  ],
}
