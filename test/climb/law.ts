/**
 * Who may do what, written down by hand from the tables of the specification and not from the code: tier, key, the lowest built-in
 * role of its line that has it (`-` none), and whether override reaches it.
 */
export type Tier = 'tenant' | 'project'

const table = `
  tenant  project.read                       tenant_member          y
  tenant  tenant.access_grant.manage         tenant_admin           y
  tenant  tenant.audit.read                  tenant_admin           y
  tenant  tenant.billing.read                tenant_admin           n
  tenant  tenant.billing.write               tenant_owner           n
  tenant  tenant.invoice.read                -                      n
  tenant  tenant.policy.read                 tenant_admin           y
  tenant  tenant.policy.write                tenant_owner           y
  tenant  tenant.project.appoint_owner       tenant_owner           y
  tenant  tenant.project.create              tenant_owner           y
  tenant  tenant.project.read                tenant_admin           y
  tenant  tenant.project.update              tenant_admin           y
  tenant  tenant.read                        tenant_member          y
  tenant  tenant.role.assign                 tenant_admin           y
  tenant  tenant.role.assign_any             tenant_owner           y
  tenant  tenant.role.define                 tenant_owner           y
  tenant  tenant.role.read                   tenant_member          y
  tenant  tenant.shared_runtime.manage       tenant_admin           y
  tenant  tenant.shared_runtime.read         tenant_member          y
  tenant  tenant.update                      tenant_owner           y
  tenant  tenant.user.invite                 tenant_admin           y
  tenant  tenant.user.read                   tenant_member          y
  tenant  tenant.user.remove                 tenant_admin           y
  project allocation.create                  project_member         n
  project allocation.read                    project_viewer         n
  project allocation.release                 project_member         n
  project allocation.ssh_keys.write          project_admin          n
  project project.access_grant.manage        project_admin          y
  project project.access_grant.read          project_member         y
  project project.audit.read                 project_admin          y
  project project.member.invite              project_admin          y
  project project.member.read                project_viewer         y
  project project.member.remove              project_admin          y
  project project.policy.read                project_admin          y
  project project.role.assign                project_owner          y
  project project.role.assign_any            project_owner          y
  project project.role.define                project_owner          y
  project project.role.read                  project_viewer         y
  project project.service_account.key.create project_admin          n
  project project.service_account.manage     project_admin          y
  project project.service_account.read       project_member         y
  project project.ssh_key.manage             project_member         n
  project project.ssh_key.read               project_viewer         y
  project storage.bucket.manage              project_admin          n
  project storage.credential.issue           project_member         n
  project storage.credential.read            project_member         n
  project storage.credential.revoke          project_admin          n
  project storage.grant.manage               project_admin          n
  project storage.mount_plan.read            project_member         n
  project storage.read                       project_viewer         n
  project storage.write                      project_member         n
  project terminal.connect                   project_member         n
  project workload.manage                    project_member         n
  project workload.read                      project_viewer         n
  project workload.token.issue               project_member         n`

interface Row {
  readonly tier: Tier
  readonly key: string
  readonly lowest: string
  readonly is_overridable: boolean
}

const rows: readonly Row[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [tier, key, lowest, override] = line.trim().split(/\s+/) as [Tier, string, string, string]
    return { tier, key, lowest, is_overridable: override === 'y' }
  })

/** Each line from the top down: whoever stands higher has all that stands below him. */
const lines = {
  tenant: ['tenant_owner', 'tenant_admin', 'tenant_member'],
  project: ['project_owner', 'project_admin', 'project_member', 'project_viewer'],
} as const

/** Beside the lines stand those that include nothing. */
const alone: Readonly<Record<string, readonly string[]>> = {
  tenant_billing_manager: ['tenant.billing.read', 'tenant.billing.write', 'tenant.invoice.read'],
  tenant_billing_viewer: ['tenant.billing.read', 'tenant.invoice.read'],
  tenant_viewer: ['tenant.read'],
}

export const ownerOf = { tenant: lines.tenant[0], project: lines.project[0] } as const
export const keysOf: Readonly<Record<Tier, readonly string[]>> = {
  tenant: rows.filter(({ tier }) => tier === 'tenant').map(({ key }) => key),
  project: rows.filter(({ tier }) => tier === 'project').map(({ key }) => key),
}
const tierByKey = new Map(rows.map(({ key, tier }) => [key, tier]))
export const tierOf = (key: string): Tier => tierByKey.get(key)!

const overridable = new Set(rows.filter(({ is_overridable }) => is_overridable).map(({ key }) => key))
export const isOverridable = (key: string): boolean => overridable.has(key)

/** What a service account may have at all, and the product's own roles that it may be given. */
const fit = new Set(
  `project.role.read project.member.read project.policy.read project.audit.read project.service_account.read project.ssh_key.manage
   project.ssh_key.read workload.read workload.manage workload.token.issue storage.bucket.manage storage.credential.issue
   storage.credential.read storage.mount_plan.read allocation.create allocation.read allocation.release storage.read storage.write
   terminal.connect`.split(/\s+/),
)
export const isFitForAccounts = (key: string): boolean => fit.has(key)
export const accountRoles: readonly string[] = ['project_member', 'project_viewer']

const reserved = ['tenant.role.assign_any', 'tenant.role.define', 'tenant.project.appoint_owner', 'project.role.assign_any']
const ungrantable = new Set([...reserved, 'project.role.define'])
/** What a custom role of a tier may hold. */
export const grantable = (tier: Tier): readonly string[] => keysOf[tier].filter((key) => !ungrantable.has(key))
/** What none may, for one reason or another. */
export const forbidden = (tier: Tier): readonly string[] => [
  ...ungrantable,
  `${tier}.role.assign_any`,
  `${tier}.role.define`,
  ...grantable(tier === 'tenant' ? 'project' : 'tenant').slice(0, 2),
  'authorization.override.all',
  'platform.admin',
  'tenant.user.leave',
  'tenant.root',
]

/** A built-in role, all that it gives. */
export interface Builtin {
  readonly name: string
  readonly tier: Tier
  readonly keys: ReadonlySet<string>
}

const inLine = (tier: Tier): Builtin[] =>
  lines[tier].map((name, at) => {
    const below: readonly string[] = lines[tier].slice(at)
    return { name, tier, keys: new Set(rows.filter(({ lowest }) => below.includes(lowest)).map(({ key }) => key)) }
  })
export const builtins: readonly Builtin[] = [
  ...inLine('tenant'),
  ...Object.entries(alone).map(([name, keys]): Builtin => ({ name, tier: 'tenant', keys: new Set(keys) })),
  ...inLine('project'),
]
