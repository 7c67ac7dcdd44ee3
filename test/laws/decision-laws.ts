import fc from 'fast-check'
import { type Action, actions, overridePermission } from '../../server/src/rails/authz/actions.ts'
import { permissionsOf, tierOf } from '../../server/src/rails/authz/catalogue.ts'
import { type Decision, type DecisionInput, decide, describedBy } from '../../server/src/rails/authz/decide.ts'
import { covers, denies } from '../../server/src/rails/policies/constraint.ts'
import { aConstraint, anAction, anElevation, aRoleOf, aWorld, builtin, factsIn, ids, type RoleTier, type World } from './random-world.ts'
import { reasonsLeft } from './true-reasons.ts'

export type Engine = (action: Action, input: DecisionInput) => Decision

/**
 * What must hold for every world. A law is a property of an engine; beside it stands an engine that is wrong in the way the law
 * forbids, to show that the law notices.
 */
export interface Law {
  readonly says: string
  readonly of: (engine: Engine) => fc.IProperty<unknown>
  readonly broken: Engine
  /** What is wrong with it. */
  readonly wrong: string
}

const spelled = ({ decision, reason_code, applied_scope, policy_source }: Decision) =>
  `${decision} ${reason_code} ${applied_scope} ${policy_source}`
const allowed = ({ decision }: Decision) => decision === 'allow'
const allow: Decision = { decision: 'allow', reason_code: null, applied_scope: 'tenant', policy_source: 'in_code' }
const denyWith = (reason_code: Decision['reason_code']): Decision => ({ ...allow, decision: 'deny', reason_code })

const tiers = ['platform', 'tenant', 'project'] as const
const rolesAt = (tier: RoleTier) => `${tier}_roles` as const
const withRoles = (world: World, tier: RoleTier, roles: World['tenant_roles']): World => ({ ...world, [rolesAt(tier)]: roles })
const answer = (engine: Engine, action: Action, world: World) => engine(action, factsIn(world))
const aTier = fc.constantFrom(...tiers)
const aRole = aTier.chain((tier) => aRoleOf(tier).map((role) => ({ tier, role })))

/** Turned round, and everything said twice. */
const mirrored = <T>(list: readonly T[]): T[] => [...list].reverse().concat(list)

/** Keys of roles that no other tier may hear; the reserved one is heard from the platform. */
const foreign = (action: Action, world: World): World =>
  tiers
    .filter((tier) => tier !== actions[action].tier && tier !== 'platform')
    .reduce((changed, tier) => withRoles(changed, tier, [builtin(`${tier}_owner`), builtin(`${tier}_viewer`, 'disabled')]), world)
const awayFrom = (elevation: World['elevations'][number]) => ({
  ...elevation,
  id: `away ${elevation.id}`,
  tenant_id: elevation.scope === 'tenant' ? ids.other_tenant : null,
  project_id: elevation.scope === 'project' ? ids.other_project : null,
})

const ordered = [
  ['tenant_owner', 'tenant_admin'],
  ['tenant_admin', 'tenant_member'],
  ['project_owner', 'project_admin'],
  ['project_admin', 'project_member'],
  ['project_member', 'project_viewer'],
] as const

export const laws: Record<string, Law> = {
  a: {
    says: 'a deny of a new key, or a locked one that holds, never turns a denial into an allow',
    of: (engine) =>
      fc.property(anAction, aWorld, aConstraint, fc.boolean(), (action, world, rule, isNew) => {
        const added = isNew ? { ...rule, key: 'new' } : { ...rule, is_locked: true, state: 'active' }
        if (!isNew && !(covers(added, action) && denies(added, describedBy(factsIn({ ...world, constraints: [added] }))))) return true
        const others = world.constraints.filter(({ key, scope_type }) => key !== added.key || scope_type !== added.scope_type)
        if (others.length < world.constraints.length) return true
        return allowed(answer(engine, action, world)) || !allowed(answer(engine, action, { ...world, constraints: [...others, added] }))
      }),
    broken: (action, input) => decide(action, input.constraints.length > 1 ? { ...input, constraints: [] } : input),
    wrong: 'hears no rule where there are several',
  },
  b: {
    says: 'a further role never turns an allow into a denial',
    of: (engine) =>
      fc.property(anAction, aWorld, aRole, (action, world, { tier, role }) => {
        const richer = withRoles(world, tier, [...world[rolesAt(tier)], role])
        return !allowed(answer(engine, action, world)) || allowed(answer(engine, action, richer))
      }),
    broken: (action, input) => {
      const decision = decide(action, input)
      return allowed(decision) && input[actions[action].tier].by_disabled.has(action) ? denyWith('role_disabled') : decision
    },
    wrong: 'lets a disabled role spoil an active one',
  },
  c: {
    says: 'the end of a binding never turns a denial into an allow',
    of: (engine) =>
      fc.property(anAction, aWorld, aTier, fc.nat(2), (action, world, tier, index) => {
        const poorer = withRoles(world, tier, world[rolesAt(tier)].toSpliced(index, 1))
        return allowed(answer(engine, action, world)) || !allowed(answer(engine, action, poorer))
      }),
    broken: (action, input) => {
      const { allowed: keys, by_disabled } = input[actions[action].tier]
      return !input.actor.is_disabled && keys.size + by_disabled.size === 0 ? allow : decide(action, input)
    },
    wrong: 'takes nobody’s role for everybody’s',
  },
  d: {
    says: 'order and repetition are irrelevant',
    of: (engine) =>
      fc.property(anAction, aWorld, (action, world) => {
        const turned: World = {
          ...world,
          platform_roles: mirrored(world.platform_roles),
          tenant_roles: mirrored(world.tenant_roles),
          project_roles: mirrored(world.project_roles),
          elevations: mirrored(world.elevations),
          constraints: mirrored(world.constraints),
        }
        return spelled(answer(engine, action, world)) === spelled(answer(engine, action, turned))
      }),
    broken: (action, input) => decide(action, { ...input, constraints: input.constraints.slice(0, 1) }),
    wrong: 'asks the first rule only',
  },
  e: {
    says: 'what is given elsewhere is irrelevant: roles of another tier, elevations in another tenant or project',
    of: (engine) =>
      fc.property(anAction, aWorld, fc.array(anElevation, { maxLength: 3 }), (action, world, elevations) => {
        const more = { ...foreign(action, world), elevations: [...world.elevations, ...elevations.map(awayFrom)] }
        return spelled(answer(engine, action, world)) === spelled(answer(engine, action, more))
      }),
    broken: (action, input) => {
      const { tenant_id, project_id } = input.resource
      return decide(action, { ...input, elevations: input.elevations.map((each) => ({ ...each, tenant_id, project_id })) })
    },
    wrong: 'takes an elevation for one everywhere',
  },
  f: {
    says: 'what has ended is irrelevant: bindings past their end, elevations past theirs',
    of: (engine) =>
      fc.property(anAction, aWorld, aRole, anElevation, (action, world, { tier, role }, elevation) => {
        const isOver = { ...elevation, id: 'over', starts_at: '2026-11-14T00:00:00.000Z', ends_at: '2026-11-16T12:00:00.000Z' }
        const past = tier === 'platform' ? [] : [{ ...role, expires_at: '2026-11-16T12:00:00.000Z' }]
        const more = withRoles({ ...world, elevations: [...world.elevations, isOver] }, tier, [...world[rolesAt(tier)], ...past])
        return spelled(answer(engine, action, world)) === spelled(answer(engine, action, more))
      }),
    broken: (action, input) =>
      decide(action, { ...input, elevations: input.elevations.map((each) => ({ ...each, ends_at: '2030-01-01T00:00:00.000Z' })) }),
    wrong: 'lets elevations last',
  },
  g: {
    says: 'other names for the same things change nothing',
    of: (engine) =>
      fc.property(anAction, aWorld, fc.uuid(), fc.uuid(), fc.uuid(), (action, world, tenant, project, person) => {
        const renamed = { [ids.tenant]: tenant, [ids.project]: project } as Record<string, string>
        const other = (id: string | null) => (id === null ? null : (renamed[id] ?? id))
        const moved = <T extends { tenant_id: string | null; project_id: string | null }>(each: T): T => ({
          ...each,
          tenant_id: other(each.tenant_id),
          project_id: other(each.project_id),
        })
        const same: World = {
          ...world,
          actor: { ...world.actor, id: person },
          token: world.token && moved(world.token),
          elevations: world.elevations.map((each) => ({ ...moved(each), id: `x${each.id}` })),
          constraints: world.constraints.map((rule) => ({ ...rule, constraint_id: person, key: `x${rule.key}` })),
        }
        return spelled(answer(engine, action, world)) === spelled(engine(action, factsIn(same, { ...ids, tenant, project })))
      }),
    broken: (action, input) => ((input.resource.tenant_id ?? '') < '8' && input.resource.tenant_id ? allow : decide(action, input)),
    wrong: 'knows some tenants by name',
  },
  h: {
    says: 'who is disabled is always told that, and nothing else',
    of: (engine) =>
      fc.property(anAction, aWorld, (action, world) => {
        const disabled = { ...world, actor: { ...world.actor, is_disabled: true } }
        return spelled(answer(engine, action, disabled)) === 'deny actor_disabled global in_code'
      }),
    broken: (action, input) =>
      input.platform.allowed.has(overridePermission)
        ? decide(action, { ...input, actor: { ...input.actor, is_disabled: false } })
        : decide(action, input),
    wrong: 'asks for override first',
  },
  i: {
    says: 'tenant roles alone never allow what is done in a project',
    of: (engine) =>
      fc.property(anAction, aWorld, (action, world) => {
        if (actions[action].tier !== 'project') return true
        const all = ['tenant_owner', 'tenant_billing_manager', 'tenant_viewer'].map((name) => builtin(name))
        const stranger = {
          ...world,
          tenant_roles: all,
          platform_roles: [],
          is_tenant_member: true,
          is_project_member: false,
          elevations: [],
        }
        return !allowed(answer(engine, action, stranger))
      }),
    broken: (action, input) => {
      const { tenant, project } = input
      const isOwner = tenant.allowed.has('tenant.role.assign_any')
      return decide(
        action,
        isOwner ? { ...input, project: { ...project, is_member: true, allowed: permissionsOf('project_owner') } } : input,
      )
    },
    wrong: 'makes a tenant’s owner the owner of its projects',
  },
  j: {
    says: 'a higher role of the same tier allows whatever the lower one does',
    of: (engine) =>
      fc.property(anAction, aWorld, fc.constantFrom(...ordered), (action, world, [higher, lower]) => {
        const tier = tierOf(lower)
        const as = (name: string) =>
          withRoles(world, tier, [...world[rolesAt(tier)].filter((role) => role.name !== higher && role.name !== lower), builtin(name)])
        return !allowed(answer(engine, action, as(lower))) || allowed(answer(engine, action, as(higher)))
      }),
    broken: (action, input) =>
      action === 'tenant.read' && input.tenant.allowed.has('tenant.update') && !input.actor.is_disabled
        ? denyWith('permission_denied')
        : decide(action, input),
    wrong: 'gives an owner his own keys without his members’',
  },
  k: {
    says: 'override reaches what the registry marks, and nothing else hangs on it',
    of: (engine) =>
      fc.property(anAction, aWorld, (action, world) => {
        const without = { ...world, platform_roles: world.platform_roles.filter(({ name }) => name !== 'platform_superadmin') }
        const held = { ...without, platform_roles: [...without.platform_roles, builtin('platform_superadmin')] }
        // RP-24: of the machines only the platform's operator has any, and it never administers the platform.
        const { type } = world.actor
        const isReached =
          actions[action].override_eligible && (type === 'user' || (type === 'platform_operator' && action !== 'platform.admin'))
        if (!isReached) return spelled(answer(engine, action, held)) === spelled(answer(engine, action, without))
        const { reason_code } = answer(engine, action, held)
        return reason_code === null || reason_code === 'actor_disabled' || reason_code === 'scope_mismatch'
      }),
    broken: (action, input) => (input.platform.allowed.has(overridePermission) && !input.actor.is_disabled ? allow : decide(action, input)),
    wrong: 'lets override reach everything',
  },
  l: {
    says: 'a denial has exactly one reason, and it is one that is true; an allow has none, and there is none',
    of: (engine) =>
      fc.property(anAction, aWorld, (action, world) => {
        const facts = factsIn(world)
        const { decision, reason_code, ...rest } = engine(action, facts)
        if (Object.keys(rest).sort().join() !== 'applied_scope,policy_source') return false
        const reasons = reasonsLeft(action, facts)
        return decision === 'allow' ? reason_code === null && reasons.length === 0 : reason_code !== null && reasons.includes(reason_code)
      }),
    broken: (action, input) => {
      const decision = decide(action, input)
      return decision.reason_code === 'membership_missing' ? denyWith('permission_denied') : decision
    },
    wrong: 'says that the permission is missing where the membership is',
  },
}
