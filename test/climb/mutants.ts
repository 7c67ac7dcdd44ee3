import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { seeded } from '../live-server.ts'

/** One rule that is not kept, as a change of the product's text. */
export interface Mutant {
  readonly file: string
  readonly find: string
  readonly replace: string
}

const inside = (file: string, find: string, replace: string): Mutant => ({ file: `server/src/${file}.ts`, find, replace })

export const mutants: Readonly<Record<string, Mutant>> = {
  'binding has no ceiling': inside(
    'people/roles/bind-role',
    'requireWithinCeiling(authorityOf(scope), scope.tier, version.permissions)',
    'authorityOf(scope)',
  ),
  'adding a member has no ceiling': inside(
    'people/roles/add-project-member',
    `requireWithinCeiling(authorityOf(project), 'project', version.permissions)`,
    'authorityOf(project)',
  ),
  'inviting has no ceiling': inside(
    'people/invitations/invite',
    'requireWithinCeiling(authorityOf(inviting), scope.tier, version.permissions)',
    'authorityOf(inviting)',
  ),
  // Asked in the inviter's place: somebody who may give anything.
  'the inviter is not judged again': inside(
    'people/invitations/accept-invitation',
    `actor: { type: 'user', id: invitation.inviter_user_id }`,
    `actor: { type: 'user', id: (work.actor.id === '${seeded.user('grace')}' ? '${seeded.user('ada')}' : '${seeded.user('grace')}') as never }`,
  ),
  'one key in common is enough': inside('people/roles/ceiling', '[...permissions].every(', '[...permissions].some('),
  'override gives to its own user': inside('rails/authz/override-limits', 'if (is_override &&', 'if (false && is_override &&'),
  'an upgrade by override gives to its own user': inside('people/roles/upgrade-role', 'if (isRicher) for (', 'if (false) for ('),
  'what needed override was not given by it': inside('people/roles/ceiling', '{ ...authority, is_override: true }', 'authority'),
  'a role may hold the whole tier': inside(
    'rails/authz/actions',
    '!reserved.has(key)',
    `(!reserved.has(key) || key.endsWith('.role.assign_any'))`,
  ),
  'anybody who may end a binding ends an owner’s': inside(
    'people/roles/end-bindings',
    '!isOwner && !may_override && work.actor.id !== user_id',
    'false && isOwner && may_override',
  ),
  'the last owner may go': inside(
    'people/roles/end-bindings',
    'if (!owners.some(({ principal_id, is_disabled }) => principal_id !== user_id && !is_disabled))',
    'if (false)',
  ),
  'an older version is retired without its ceiling': inside(
    'people/roles/bind-role',
    'isOver ? authority : requireWithinCeiling(authority, scope.tier, before.permissions)',
    'authority',
  ),
  'a project with an owner is given another': inside(
    'people/roles/appoint-project-owner',
    'if (owners.some(({ is_disabled }) => !is_disabled))',
    'if (false)',
  ),
  'who holds a role rides along with its newest version': inside(
    'rails/authz/standing-queries',
    'p.role_version_id = v.id',
    'p.role_version_id = d.current_version_id',
  ),
  'override enables a role for its own user': inside(
    'people/roles/disable-role',
    `if (await work.tx.maybe(bindingToRole(scope, 'user', work.actor.id, role.id)))`,
    'if (false)',
  ),
  'making a key has no ceiling': inside('machines/service-accounts/making-keys', '  await requireAuthority(work, project, account)\n', ''),
  'a key’s ceiling looks at nothing': inside('machines/service-accounts/making-keys', '[...allowed, ...by_disabled]', '[]'),
  'a tenant enables what the platform disabled': inside('people/roles/disable-role', 'if (!is_platform && ', 'if (false && '),
}

/**
 * Whoever may define may assign anything, so the ceiling of an upgrade has nobody to stop. With these changes it has: whoever may
 * assign may upgrade.
 */
export const assignersUpgrade: readonly Mutant[] = [
  inside('people/roles/upgrade-role', 'import { authorizeDefine, ', 'import { authorizeAssign as authorizeDefine, '),
  {
    file: 'contract/src/role-upgrades.ts',
    find: `import { inOrganization, inProject } from './roles.ts'`,
    replace: `import { inOrganization as organization, inProject as project } from './roles.ts'
const inOrganization = { ...organization, define: 'tenant.role.assign' }
const inProject = { ...project, define: 'project.role.assign' }`,
  },
  inside('people/roles/upgrade-preview', '.role.define`', '.role.assign`'),
]
export const upgradeHasNoCeiling = inside('people/roles/upgrade-role', 'requireWithinCeiling(authority, tier, to.permissions)', 'authority')

/** How often a text occurs in its file: a change that fits twice, or no longer, is no mutant. */
export const occurrences = ({ file, find }: Mutant): number =>
  readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8').split(find).length - 1
