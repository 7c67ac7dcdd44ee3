import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** One fault, as a change of the product's text. */
export interface Mutant {
  name: string
  file: string
  find: string
  replace: string
}

const inside = (file: string, mutants: Record<string, readonly [find: string, replace: string]>): Mutant[] =>
  Object.entries(mutants).map(([name, [find, replace]]) => ({ name, file: `server/src/${file}.ts`, find, replace }))

export const mutants: readonly Mutant[] = [
  ...inside('rails/authz/decide', {
    'a disabled person goes on': [`if (input.actor.is_disabled) return deny('actor_disabled', 'global')`, ''],
    'tokens bound nothing': [`if (!isWithinToken(action, input, entry)) return deny('scope_mismatch', scope)`, ''],
    'a token’s tenant is not looked at': ['token.tenant_id !== null && token.tenant_id !== resource.tenant_id', 'false'],
    'a token’s actions are not looked at': ['token.actions && !token.actions.has(action)', 'false'],
    'a project’s token reaches the tenant': [` && (tier === 'project' || action === 'project.read')`, ''],
    'override reaches everything': ['override_eligible && hasOverride(input)', 'hasOverride(input)'],
    'an elevation does not end': [' && Date.parse(now) < Date.parse(ends_at)', ''],
    'an elevation lasts an instant too long': ['Date.parse(now) < Date.parse(ends_at)', 'Date.parse(now) <= Date.parse(ends_at)'],
    'an elevation counts before it starts': ['Date.parse(starts_at) <= Date.parse(now) && ', ''],
    'an elevation gives every action': ['each.actions.includes(action) && ', ''],
    'an elevation reaches every project': ['[project_id, resource.project_id]', `['', '']`],
    'an elevation reaches every tenant': ['[tenant_id, resource.tenant_id] :', `['', ''] :`],
    'the widest elevation is named': [`['project', 'tenant', 'global']`, `['global', 'tenant', 'project']`],
    'the last of several elevations is named': ['(a.id < b.id ? -1 : 1))[0]', '(a.id < b.id ? 1 : -1))[0]'],
    'a locked rule does not stop an elevation': ['return locked ?', 'return locked && false ?'],
    'a plain rule stops an elevation': ['(rule.is_locked || !isLockedOnly) && ', ''],
    'a lock of the platform’s does not stop an elevation': [
      '(rule.is_locked || !isLockedOnly) && ',
      `((rule.is_locked && rule.scope_type !== 'global') || !isLockedOnly) && `,
    ],
    'nobody asks about membership': [`if (!isMember(action, input, entry)) return deny('membership_missing', scope)`, ''],
    'a disabled role is not told apart': [`by_disabled.has(action) ? 'role_disabled' : 'permission_denied'`, `'permission_denied'`],
    'a disabled role is enough': ['if (!allowed.has(action) && ', 'if (!allowed.has(action) && !by_disabled.has(action) && '],
    'any relation gives any key': ['relationKeys[relation].has(action)', 'relationKeys[relation].size > 0'],
    'of several relations the first counts': [
      'if (relationKeys[relation].has(action)) return true',
      'return relationKeys[relation].has(action)',
    ],
    'machines have relations': [`if (actor.type !== 'user') return false\n  for`, 'for'],
    'a relation needs no membership': [
      `if (!isMember(action, input, entry)) return deny(`,
      'if (!isMember(action, input, entry) && !isGivenByRelation(action, input)) return deny(',
    ],
    'what comes by a relation no rule takes away': [
      'if (constraints.length === 0 || !isConstrainable(action))',
      'if (constraints.length === 0 || !isConstrainable(action) || isGivenByRelation(action, input))',
    ],
    'what is frozen cannot be read': ['if (is_read) return null', ''],
    'a suspended tenant is not frozen': [`if (tenant.is_suspended) return 'tenant'`, ''],
    'an archived project is not frozen': [`return project.is_archived ? 'project' : null`, 'return null'],
    'rules reach what belongs to the person': [' || !isConstrainable(action)', ''],
    'every resource is of one type': ['resource_type: resource.type', `resource_type: 'user'`],
    'rules do not count': ['return rule ? denyBy(', 'return rule && false ? denyBy('],
    'what comes with being a machine counts everywhere': [
      `if (isByClass && tier === 'platform') return true`,
      'if (isByClass) return true',
    ],
    'a machine’s token must list what it is': ['!isByClass && !isUnlisted(action, input)', '!isUnlisted(action, input)'],
    'an operator’s token lacks what nobody can give it': [' && !isUnlisted(action, input)) return false', ') return false'],
    'an operator’s token may leave its runtime open': [
      `if (actor.type === 'shared_runtime_operator' && !isBoundToItself(input)) return false`,
      '',
    ],
    'an operator reaches every project': ['(resource.project_id === null || project.is_member)', 'true'],
    'an operator attaches what it likes': ['(project.is_eligible === true || isUnlisted(action, input))', 'true'],
    'the platform asks an operator for an attachment': [
      `  if (tier === 'platform') return true\n  if (action === 'shared_runtime.attach')`,
      `  if (action === 'shared_runtime.attach')`,
    ],
    'attached is at home': [`where === undefined || actor.type === 'shared_runtime_operator'`, 'where === undefined'],
    'an elevation lifts machines': [` || input.actor.type !== 'user') return undefined`, ') return undefined'],
    'what is a project’s own a service account may not read': [
      `if (action === 'project.read') return tenant.is_member || project.is_member`,
      '',
    ],
  }),
  ...inside('rails/authz/service-account-standing-queries', {
    'a disabled service account goes on': [`s.state <> 'active' as is_disabled`, 'false as is_disabled'],
    'a service account outlives its tenant': ['o.id is not null and s.project_id', 's.project_id'],
  }),
  ...inside('rails/authz/operator-standing-queries', {
    'a disabled runtime’s operator goes on': [`r.state = 'disabled' as is_disabled`, 'false as is_disabled'],
    'a deleted runtime’s operator goes on': [` and r.state <> 'deleted'`, ''],
    'a detached project is attached': [' and a.detached_at is null', ''],
    'every project may be attached': ['p.id is not null and p.id = any(r.eligible_project_ids)', 'p.id is not null'],
    'an operator outlives its tenant': ['o.id = r.org_id and o.deleted_at is null', 'o.id = r.org_id'],
  }),
  ...inside('rails/authz/standing', {
    'a custom role holds whatever stands in it': ['role.permissions.filter((key) => isGrantable(key, tier))', 'role.permissions'],
    'a binding lasts an instant too long': ['now < expires_at', 'now <= expires_at'],
    'a disabled role counts as an active one': ['isActive(role, now) === wanted', `(role.state !== '') === wanted`],
    'a role in its grace gives nothing': [` || (state === 'disabled' && now < (grace_until ?? ''))`, ''],
    'a grace lasts an instant too long': [`now < (grace_until ?? '')`, `now <= (grace_until ?? '')`],
    'a grace does not end': [`now < (grace_until ?? '')`, 'grace_until !== null'],
    'a grace is judged once for all time': [' || grace_until !== null', ''],
    'of several roles the first counts': ['new Set(sets.flatMap((set) => [...set]))', 'sets[0]!'],
    'service accounts have all that their roles have': ['...fitting(held.project), ', ''],
    'an operator has what nobody delegated': [
      'const delegated = delegated_actions.flatMap(',
      `const delegated = ['attach', 'detach'].flatMap(`,
    ],
  }),
  ...inside('rails/authz/standing', {
    'a project membership is enough': ['row.is_project_member && row.is_tenant_member', 'row.is_project_member'],
  }),
  ...inside('rails/authz/platform-source', {
    'an administrator is none where the old column is heard': [
      `case 'users_role':\n      return byColumn`,
      `case 'users_role':\n      return both.platform_bindings`,
    ],
    'the old column is always heard': [
      `case 'bindings':\n      return both.platform_bindings`,
      `case 'bindings':\n      return [...both.platform_bindings, ...byColumn]`,
    ],
    'in transition the old column is heard of everybody': [
      'both.was_ever_bound ? both.platform_bindings : byColumn',
      '[...both.platform_bindings, ...byColumn]',
    ],
    'in transition the old column is heard of nobody': [
      'both.was_ever_bound ? both.platform_bindings : byColumn',
      'both.platform_bindings',
    ],
  }),
  ...inside('rails/authz/facts', {
    'who is disabled is not': ['is_disabled: standing.is_disabled', 'is_disabled: false'],
    'a machine is bound by its token alone': ['actor.token ?? standing.home ?? null', 'actor.token ?? null'],
  }),
  ...inside('rails/authz/standing-queries', {
    'disabled people are not noticed': ['u.disabled_at is not null as is_disabled', 'false as is_disabled'],
    'ended tenant memberships count': [
      'm.tenant_id = o.id and m.user_id = u.id and m.deleted_at is null',
      'm.tenant_id = o.id and m.user_id = u.id',
    ],
    'ended project memberships count': [
      'm.project_id = p.id and m.user_id = u.id and m.deleted_at is null',
      'm.project_id = p.id and m.user_id = u.id',
    ],
    'ended platform bindings count': [
      `b.principal_id = u.id and b.deleted_at is null), '[]') as platform_bindings`,
      `b.principal_id = u.id), '[]') as platform_bindings`,
    ],
    'everybody is an administrator': [` and u.role = 'admin'`, ''],
    'who was revoked was never bound': [
      'b.principal_id = u.id) as was_ever_bound',
      'b.principal_id = u.id and b.deleted_at is null) as was_ever_bound',
    ],
    'a deleted tenant has members': ['place.tenant_id and o.deleted_at is null', 'place.tenant_id'],
    'bindings follow the current version': ['p.role_version_id = v.id', 'p.role_version_id = d.current_version_id'],
  }),
  ...inside('rails/authz/bound-roles', {
    'ended bindings count': [' and b.deleted_at is null', ''],
    'deleted roles count': ['and d.deleted_at is null', ''],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a piece of the product's own text
    'bindings of machines count for people': ["b.principal_type = '${principal_type}' and ", ''],
  }),
  ...inside('rails/authz/actions', {
    'a shell is open to override': [
      `'terminal.connect': onMachines('service_account')`,
      `'terminal.connect': onMachines('service_account', 'override')`,
    ],
    'reading a bill is no read': [`'tenant.billing.read': at('tenant', 'read')`, `'tenant.billing.read': at('tenant')`],
    'an invitation is nobody’s': [`invitee: new Set<Action>(['me.invitation.accept'])`, 'invitee: new Set<Action>()'],
    'an owner of an allocation may not let others in': [
      `allocation_owner: new Set<Action>(['project.access_grant.manage', `,
      'allocation_owner: new Set<Action>([',
    ],
    'who was let in has what the owner has': [
      `grantee: new Set<Action>([`,
      `grantee: new Set<Action>(['project.access_grant.manage', 'project.access_grant.read', 'allocation.ssh_keys.write', `,
    ],
    'a role definition can be put into a role': [
      `  'project.role.define',\n  'project.access_grant.read_own',`,
      `  'project.access_grant.read_own',`,
    ],
  }),
  ...inside('rails/authz/catalogue', {
    'a tenant admin is no member': [`tier: 'tenant',\n    includes: 'tenant_member',`, `tier: 'tenant',`],
    'a viewer may write': [
      `baseline: ['allocation.read', 'storage.read']`,
      `baseline: ['allocation.read', 'storage.read', 'storage.write']`,
    ],
  }),
  ...inside('rails/policies/constraint', {
    'an exemption does not count': ['?? widestFirst.at(-1)!', '?? widestFirst[0]!'],
    'a disabled rule can be locked': ['rule.is_locked && isActive(rule)', 'rule.is_locked'],
    'a lock does not hold': ['widestFirst.find((rule) => rule.is_locked && isActive(rule)) ??', ''],
    'a lock of the platform’s does not hold': [
      'rule.is_locked && isActive(rule)',
      `rule.is_locked && rule.scope_type !== 'global' && isActive(rule)`,
    ],
    'disabled rules deny': ['.filter(isActive)', ''],
    'the narrowest rule decides': ['width(a) - width(b) || (a.key', 'width(b) - width(a) || (a.key'],
    'groups cover nothing': [`named.endsWith('.*') && `, 'false && '],
    'what cannot be judged does not deny': ['!== false', '=== true'],
  }),
  ...inside('rails/policies/constraint-queries', {
    'replaced rules count': [`replaced_at is null and tenant_id`, 'tenant_id'],
    'a project’s rules are not read': ['project_id = any(', 'constraint_id = any('],
    'of the platform’s rules the old ones are read': ['replaced_at is null and scope_type', 'replaced_at is not null and scope_type'],
  }),
  ...inside('rails/policies/condition', {
    'what is unknown beats what is false': ['if (truth === undefined) all = undefined', 'if (truth === undefined) return undefined'],
    'not of unknown is true': ['(truth === undefined ? undefined : !truth)', '!truth'],
    'hours include their end': ['from <= value && value < until', 'from <= value && value <= until'],
    'equal hours are the whole day': ['from <= until ?', 'from < until ?'],
    'all flags are any': ['listed.every((flag)', 'listed.some((flag)'],
    'at least is more than': ['amount >= bound', 'amount > bound'],
    'at most is less than': ['amount <= bound', 'amount < bound'],
    'null is present': ['value === undefined || value === null', 'value === undefined'],
    'a fraction is an integer': ['Number.isSafeInteger(value)', `typeof value === 'number'`],
    'flags need not be text': ['Array.isArray(value) && value.every(isText)', 'Array.isArray(value)'],
  }),
  ...inside('rails/authz/local-times', {
    'it is always the same time': ['const instant = instantOf(time)', `const instant = instantOf('2026-01-01T00:00:00Z')`],
    'every rule lives in one zone': ['timeZone: zone', `timeZone: 'UTC'`],
    'the week begins on Sunday': [`['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']`, `['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']`],
  }),
]

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** How often a text occurs in its file: a change that fits twice, or no longer, is no mutant. */
export const occurrences = async ({ file, find }: Mutant): Promise<number> =>
  (await readFile(join(root, file), 'utf8')).split(find).length - 1

/** A copy of the product and of this test to work on, with the packages of the original. */
const copyProduct = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-mutant-'))
  const isNeeded = (path: string) => !/\.test\.ts$|node_modules/.test(path)
  await cp(join(root, 'server/src'), join(folder, 'server/src'), { recursive: true, filter: isNeeded })
  await cp(join(root, 'test/differential'), join(folder, 'test/differential'), { recursive: true, filter: isNeeded })
  for (const file of ['package.json', 'server/package.json', 'test/unhurried.ts']) await cp(join(root, file), join(folder, file))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** A copy whose text can be changed again and again; each answer is that of a new process. */
export const workshop = async () => {
  const folder = await copyProduct()
  return {
    folder,
    /** How many answers of a product with this fault differ from what is expected. */
    differencesOf: async (mutant: Mutant | undefined, asked: string): Promise<number> => {
      const file = join(folder, mutant?.file ?? 'package.json')
      const text = await readFile(file, 'utf8')
      if (mutant)
        await writeFile(
          file,
          text.replace(mutant.find, () => mutant.replace),
        )
      try {
        const { stdout } = await run(process.execPath, [join(folder, 'test/differential/judge-apart.ts'), asked], { timeout: 300_000 })
        return (JSON.parse(stdout) as { differences: number }).differences
      } finally {
        await writeFile(file, text)
      }
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
