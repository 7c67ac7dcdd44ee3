import {
  type Action,
  actions,
  classKeys,
  isConstrainable,
  isForGlobalRules,
  membershipKeys,
  overridePermission,
  relationKeys,
} from '../../../server/src/rails/authz/actions.ts'
import { permissionsOf } from '../../../server/src/rails/authz/catalogue.ts'
import { type Decision, type DecisionInput, type Elevation, scopeOf, type TokenBounds } from '../../../server/src/rails/authz/decide.ts'
import { localTimes } from '../../../server/src/rails/authz/local-times.ts'
import { heldAt, standingOf, strangerRow } from '../../../server/src/rails/authz/standing.ts'
import type { BoundRole } from '../../../server/src/rails/authz/standing-queries.ts'
import type { Constraint, ScopeType } from '../../../server/src/rails/policies/constraint.ts'
import { actionNames } from '../random-world.ts'
import { type Asked, askedBy, type Said, saidNames } from './merge.ts'

/** One answer to some of the questions: which of them are yes, and how the engine is told the same. */
interface Choice<Part> {
  readonly yes: readonly string[]
  readonly part: Part
}
/** Every choice of one matter, and the few that stand for all of them while another matter is gone through. */
interface Matter<Part> {
  readonly all: readonly Choice<Part>[]
  readonly few: readonly Choice<Part>[]
}

const now = '2026-11-16T12:00:00.000Z'
const [past, earlier, later] = ['2026-11-14T12:00:00.000Z', '2026-11-15T12:00:00.000Z', '2026-11-17T12:00:00.000Z']
const here = { tenant: 'tenant-here', project: 'project-here' }
const away = { tenant: 'tenant-away', project: 'project-away' }
const [me, other] = ['me', 'somebody']
const scopes: readonly ScopeType[] = ['global', 'tenant', 'project']

const choice = <Part>(part: Part, ...yes: (string | false)[]): Choice<Part> => ({
  part,
  yes: yes.filter((name): name is string => name !== false),
})
const matter = <Part>(all: readonly Choice<Part>[], isOneOfFew: (part: Part) => boolean): Matter<Part> => ({
  all,
  few: all.filter(({ part }) => isOneOfFew(part)),
})
const both = [false, true] as const

// The action, and the key that stands for it where roles are resolved: on the lower role's list, on the higher one's own, on neither.
const [lower, higher] = ['project_member', 'project_owner'] as const
const keys = {
  lower: [...permissionsOf(lower)][0]!,
  higher: [...permissionsOf(higher)].find((key) => !permissionsOf(lower).has(key))!,
  neither: 'tenant.read',
}
type KeyOf = keyof typeof keys

const aboutAction = (action: Action): string[] => {
  const { tier, override_eligible, is_read } = actions[action]
  return choice(
    null,
    `action.tier.${scopeOf[tier]}`,
    override_eligible && 'action.is_override_eligible',
    is_read && 'action.is_read',
    isConstrainable(action) && 'action.is_constrainable',
    isForGlobalRules(action) && 'action.is_for_global_rules',
    action === 'platform.admin' && 'action.is_platform_admin',
    action === 'project.read' && 'action.is_project_read',
    action === 'shared_runtime.attach' && 'action.is_attach',
    membershipKeys[action] === 'tenant' && 'action.is_by_tenant_membership',
    membershipKeys[action] === 'project' && 'action.is_by_project_membership',
    isByRelation(action) && 'action.is_by_relation',
  ).yes as string[]
}
const fewActions: readonly Action[] = ['tenant.update', 'storage.write', 'project.read', 'platform.admin']

const kinds = ['user', 'service_account', 'platform_operator', 'shared_runtime_operator', 'node_agent'] as const
const actors = (action: Action): Matter<DecisionInput['actor']> =>
  matter(
    kinds.flatMap((type) =>
      both.map((is_disabled) =>
        choice(
          { id: me, type, is_disabled },
          is_disabled && 'actor.is_disabled',
          type === 'user' && 'actor.is_user',
          type === 'platform_operator' && 'actor.is_platform_operator',
          type === 'shared_runtime_operator' && 'actor.is_runtime_operator',
          classKeys[type]?.has(action) === true && 'actor.has_action_by_class',
        ),
      ),
    ),
    ({ type, is_disabled }) => type === 'user' || (type === 'service_account' && !is_disabled),
  )

type Where = 'none' | 'here' | 'away'
const wheres: readonly Where[] = ['none', 'here', 'away']
const idAt = (where: Where, ids: { here: string; away: string }) => (where === 'none' ? null : ids[where])
const runtimes = { here: me, away: other }
interface Bounds {
  readonly token: TokenBounds | null
  readonly shared_runtime_id: string | null
  readonly is_plain: boolean
}
const bounds = (action: Action): Matter<Bounds> => {
  const lists = [null, new Set(['unknown.key'])]
  const tokens = lists.flatMap((listed) =>
    wheres.flatMap((tenant) =>
      wheres.flatMap((project) =>
        wheres.map((runtime) =>
          choice(
            {
              tenant_id: idAt(tenant, { here: here.tenant, away: away.tenant }),
              project_id: idAt(project, { here: here.project, away: away.project }),
              shared_runtime_id: idAt(runtime, runtimes),
              actions: listed,
            },
            'token.is_held',
            listed?.has(action) !== false && 'token.lists_action',
            tenant !== 'none' && 'token.bounds_tenant',
            tenant === 'here' && 'token.is_of_tenant',
            project !== 'none' && 'token.bounds_project',
            project === 'here' && 'token.is_of_project',
            runtime === 'here' && 'token.is_of_own_runtime',
            runtime === 'away' && 'token.is_of_other_runtime',
          ),
        ),
      ),
    ),
  )
  const all = [choice<TokenBounds | null>(null), ...tokens].flatMap(({ part: token, yes }) =>
    wheres.map((runtime) =>
      choice<Bounds>(
        { token, shared_runtime_id: idAt(runtime, runtimes), is_plain: runtime === 'none' && (token === null || isElsewhere(token)) },
        ...yes,
        runtime === 'here' && 'place.is_own_runtime',
        runtime === 'away' && 'place.is_other_runtime',
      ),
    ),
  )
  return matter(all, ({ is_plain }) => is_plain)
}
const isElsewhere = ({ tenant_id, project_id, shared_runtime_id, actions: listed }: TokenBounds) =>
  tenant_id === away.tenant && project_id === null && shared_runtime_id === null && listed === null

interface Belonging {
  readonly is_tenant_member: boolean
  readonly is_project_member: boolean
  readonly is_eligible: boolean
  readonly has_override: boolean
}
const belongings: Matter<Belonging> = matter(
  both.flatMap((is_tenant_member) =>
    both.flatMap((is_project_member) =>
      both.flatMap((is_eligible) =>
        both.map((has_override) =>
          choice(
            { is_tenant_member, is_project_member, is_eligible, has_override },
            is_tenant_member && 'actor.is_tenant_member',
            is_project_member && 'actor.is_project_member',
            is_eligible && 'actor.may_attach',
            has_override && 'actor.has_override',
          ),
        ),
      ),
    ),
  ),
  ({ is_tenant_member, is_project_member, is_eligible }) => (is_tenant_member || !is_project_member) && !is_eligible,
)

const isByRelation = (action: Action) => Object.values(relationKeys).some((given) => given.has(action))
const relations = (action: Action): Matter<boolean> =>
  matter(
    both.map((isRelated) => choice(isRelated, isRelated && 'actor.is_related')),
    (isRelated) => !isRelated || isByRelation(action),
  )

interface Ground {
  readonly tenant_id: string | null
  readonly project_id: string | null
  readonly is_suspended: boolean
  readonly is_archived: boolean
}
const grounds: Matter<Ground> = matter(
  [
    { tenant_id: null, project_id: null },
    { tenant_id: here.tenant, project_id: null },
    { tenant_id: here.tenant, project_id: here.project },
  ].flatMap((place) =>
    both.flatMap((is_suspended) =>
      both.map((is_archived) =>
        choice(
          { ...place, is_suspended, is_archived },
          place.tenant_id !== null && 'place.is_in_tenant',
          place.project_id !== null && 'place.is_in_project',
          is_suspended && 'place.is_suspended',
          is_archived && 'place.is_archived',
        ),
      ),
    ),
  ),
  ({ project_id, is_suspended }) => project_id !== null && !is_suspended,
)

// Roles are bound as the tables say them, and come to what the product makes of them.
type Held = 'unbound' | 'live' | 'over' | 'disabled' | 'disabled and over'
const helds: readonly Held[] = ['unbound', 'live', 'over', 'disabled', 'disabled and over']
const bindingsOf = (name: string) =>
  helds.flatMap((held) =>
    (held === 'unbound' ? [lower] : [lower, higher]).map((role) => {
      const isDisabled = held.startsWith('disabled')
      const isOver = held.endsWith('over')
      const bound: BoundRole = {
        ...{ binding_id: name, role_id: role, role_version_id: role, name: role, version: 1, is_builtin: true, permissions: [] },
        ...{ state: isDisabled ? 'disabled' : 'active', expires_at: isOver ? now : null, grace_until: null },
      }
      return choice(
        held === 'unbound' ? [] : [bound],
        held !== 'unbound' && `${name}.is_bound`,
        isOver && `${name}.is_over`,
        isDisabled && `${name}.is_disabled`,
        role === higher && `${name}.is_higher`,
      )
    }),
  )
const whatTheyGive = (roles: readonly BoundRole[], key: KeyOf) => {
  const { project } = heldAt(standingOf({ ...strangerRow(me), project_roles: [...roles] }), now)
  return { isAllowed: project.allowed.has(keys[key]), isByDisabled: project.by_disabled.has(keys[key]) }
}
interface Roles {
  readonly here: ReturnType<typeof whatTheyGive>
  readonly elsewhere: ReturnType<typeof whatTheyGive>
  readonly is_plain: boolean
}
const aboutKey: Record<KeyOf, string[]> = {
  lower: ['action.is_of_lower'],
  higher: ['action.is_of_higher'],
  neither: [],
}
const roles: Matter<Roles> = matter(
  (Object.keys(keys) as KeyOf[]).flatMap((key) =>
    bindingsOf('first').flatMap((first) =>
      bindingsOf('second').flatMap((second) =>
        bindingsOf('elsewhere')
          // Where they are not looked at, unbound and bound with all that it gives say enough.
          .filter(({ yes }) => yes.join() === '' || yes.join() === 'elsewhere.is_bound,elsewhere.is_higher')
          .map((elsewhere) =>
            choice<Roles>(
              {
                here: whatTheyGive([...first.part, ...second.part], key),
                elsewhere: whatTheyGive(elsewhere.part, key),
                is_plain: key === 'higher' && second.yes.length === 0 && elsewhere.yes.length === 0 && isPlainBinding(first.yes),
              },
              ...aboutKey[key],
              ...first.yes,
              ...second.yes,
              ...elsewhere.yes,
            ),
          ),
      ),
    ),
  ),
  ({ is_plain }) => is_plain,
)
function isPlainBinding(yes: readonly string[]) {
  return ['', 'first.is_bound,first.is_higher', 'first.is_bound,first.is_disabled,first.is_higher'].includes(yes.join())
}

const elevationsNamed = (name: string, action: Action) => [
  choice<Elevation[]>([]),
  ...scopes.flatMap((scope) =>
    both.flatMap((isHere) =>
      both.flatMap((isNamed) =>
        [
          { starts_at: earlier, ends_at: later },
          { starts_at: past, ends_at: now },
          { starts_at: later, ends_at: later },
        ].map(({ starts_at, ends_at }) => {
          const { tenant, project } = isHere ? here : away
          const elevation: Elevation = {
            ...{ id: name, scope, starts_at, ends_at, actions: [isNamed ? action : 'unknown.key'] },
            tenant_id: scope === 'tenant' ? tenant : null,
            project_id: scope === 'project' ? project : null,
          }
          return choice(
            [elevation],
            `${name}.is_held`,
            `${name}.at.${scope}`,
            isHere && `${name}.is_here`,
            isNamed && `${name}.names_action`,
            starts_at !== later && `${name}.has_begun`,
            ends_at === now && `${name}.is_over`,
          )
        }),
      ),
    ),
  ),
]
const isGood = ({ actions: [named], starts_at, ends_at, tenant_id, project_id, scope }: Elevation) =>
  named !== 'unknown.key' &&
  starts_at === earlier &&
  ends_at === later &&
  (scope === 'global' || (tenant_id ?? project_id)?.endsWith('here'))
const elevations = (action: Action): Matter<readonly Elevation[]> =>
  matter(
    elevationsNamed('elevation', action).flatMap((first) =>
      elevationsNamed('other_elevation', action)
        .filter(({ part: [one] }) => one === undefined || isGood(one))
        // The order in which they are told is turned round for every other one.
        .map((second, at) =>
          choice(
            (at % 2 ? [...second.part, ...first.part] : [...first.part, ...second.part]) as readonly Elevation[],
            ...first.yes,
            ...second.yes,
          ),
        ),
    ),
    (told) =>
      told.length === 0 || (told.length === 1 && told[0]!.id === 'elevation' && told[0]!.scope === 'tenant' && isGood(told[0]!) === true),
  )

type Cell = 'absent' | 'deny' | 'deny that does not hold' | 'locked' | 'disabled'
const cells: readonly Cell[] = ['absent', 'deny', 'deny that does not hold', 'locked', 'disabled']
const cellOf = (key: string, scope: ScopeType, cell: Cell, action: Action) => {
  const name = `${key}.${scope}`
  const rule: Constraint = {
    ...{ constraint_id: name, version: 1, key, scope_type: scope, time_zone: 'UTC', actions: [action] },
    condition: cell === 'deny that does not hold' ? { in: { region: ['us'] } } : {},
    is_locked: cell === 'locked',
    state: cell === 'disabled' ? 'disabled' : 'active',
  }
  return choice(
    cell === 'absent' ? [] : [rule],
    cell !== 'absent' && `${name}.is_written`,
    cell === 'locked' && `${name}.is_locked`,
    cell !== 'disabled' && `${name}.is_active`,
    cell !== 'deny that does not hold' && `${name}.holds`,
  )
}
interface Rules {
  readonly chain: readonly Constraint[]
  readonly row: string
}
const fewRules = ['absent absent absent, absent', 'absent absent deny, absent', 'absent locked absent, absent']
const rules = (action: Action): Matter<Rules> =>
  matter(
    cells.flatMap((global) =>
      cells.flatMap((tenant) =>
        cells.flatMap((project) =>
          (['absent', 'deny', 'locked'] as const).map((otherTenant, at) => {
            const chosen = [
              cellOf('rule', 'global', global, action),
              cellOf('rule', 'tenant', tenant, action),
              cellOf('rule', 'project', project, action),
              cellOf('other_rule', 'tenant', otherTenant, action),
            ]
            const chain = chosen.flatMap(({ part }) => part)
            return choice<Rules>(
              { chain: at % 2 ? chain.reverse() : chain, row: `${global} ${tenant} ${project}, ${otherTenant}` },
              ...chosen.flatMap(({ yes }) => yes),
            )
          }),
        ),
      ),
    ),
    ({ row }) => fewRules.includes(row),
  )

const names: string[] = []
askedBy((name) => names.push(name))
/** A sheet to be written on again and again, and its places in the order of their names. */
const blankSheet = () => {
  const asked = askedBy(() => 0)
  const places: [Record<string, number>, string][] = []
  const collect = (group: object): void => {
    for (const [name, part] of Object.entries(group)) {
      if (typeof part === 'number') places.push([group as Record<string, number>, name])
      else collect(part)
    }
  }
  collect(asked)
  return { asked, places }
}
const placeOf = new Map(names.map((name, at) => [name, at]))
const placesOf = (yes: readonly string[]) =>
  yes.map((name) => {
    const at = placeOf.get(name)
    if (at === undefined) throw new Error(`nothing is called ${name}`)
    return at
  })
export const questionNames: readonly string[] = names

const attributes: DecisionInput['attributes'] = { region: 'eu' }
const local_times = localTimes(now, ['UTC'])
const noKeys: ReadonlySet<string> = new Set()
const everyRelation = new Set(Object.keys(relationKeys)) as DecisionInput['resource']['relations']
const noRelation: DecisionInput['resource']['relations'] = new Set()

interface Parts {
  readonly actors: DecisionInput['actor']
  readonly bounds: Bounds
  readonly belongings: Belonging
  readonly relations: boolean
  readonly grounds: Ground
  readonly roles: Roles
  readonly elevations: readonly Elevation[]
  readonly rules: Rules
}
type Matters = { readonly [Name in keyof Parts]: Matter<Parts[Name]> }
const matterNames = [
  ...(['rules', 'elevations', 'roles', 'grounds'] as const),
  ...(['belongings', 'relations', 'bounds', 'actors'] as const),
] as const satisfies (keyof Parts)[]
const mattersFor = (action: Action): Matters => ({
  ...{ actors: actors(action), bounds: bounds(action), elevations: elevations(action), rules: rules(action) },
  ...{ relations: relations(action), belongings, grounds, roles },
})

/** The sets of keys of one action's questions: made once, for there are only these. */
const setsFor = (action: Action) => {
  const own = new Set<string>([action])
  const withOverride = { own: new Set<string>([action, overridePermission]), none: new Set<string>([overridePermission]) }
  return (isGiven: boolean, hasOverride: boolean) =>
    hasOverride ? (isGiven ? withOverride.own : withOverride.none) : isGiven ? own : noKeys
}

const inputOf = (tier: string, sets: ReturnType<typeof setsFor>, parts: Parts): DecisionInput => {
  const { bounds: bound, belongings: belonging, grounds: ground, roles: role } = parts
  const at = (name: string) => (name === tier ? role.here : role.elsewhere)
  const [platform, tenant, project] = [at('platform'), at('tenant'), at('project')]
  return {
    actor: parts.actors,
    token: bound.token,
    platform: { allowed: sets(platform.isAllowed, belonging.has_override), by_disabled: sets(platform.isByDisabled, false) },
    tenant: {
      allowed: sets(tenant.isAllowed, false),
      by_disabled: sets(tenant.isByDisabled, false),
      is_member: belonging.is_tenant_member,
      is_suspended: ground.is_suspended,
    },
    project: {
      allowed: sets(project.isAllowed, false),
      by_disabled: sets(project.isByDisabled, false),
      is_member: belonging.is_project_member,
      is_archived: ground.is_archived,
      is_eligible: belonging.is_eligible,
    },
    resource: {
      type: 'thing',
      tenant_id: ground.tenant_id,
      project_id: ground.project_id,
      shared_runtime_id: bound.shared_runtime_id,
      relations: parts.relations ? everyRelation : noRelation,
    },
    now,
    elevations: parts.elevations,
    constraints: parts.rules.chain,
    attributes,
    local_times,
  }
}

/** 32 worlds: what each question is in them, and what the engine said of each. */
export interface Sheet {
  readonly asked: Asked<number>
  readonly said: Said<number>
  /** Those of the 32 that are used. */
  readonly used: number
}
const wordPlace: ReadonlyMap<string, number> = new Map(saidNames.map((name, at) => [name, at]))

type Engine = (action: Action, input: DecisionInput) => Decision

/** Every choice of every matter, one at a time, against the few choices of all the others; and every action against the few of all. */
export const goThrough = (engine: Engine, look: (sheet: Sheet) => void): number => {
  const asked = new Int32Array(names.length)
  const said = new Int32Array(saidNames.length)
  const sheet = blankSheet()
  const answer = Object.fromEntries(saidNames.map((name) => [name, 0])) as { -readonly [Name in keyof Said<number>]: number }
  let [lane, worlds] = [0, 0]
  const turnOver = () => {
    if (lane === 0) return
    const used = lane === 32 ? -1 : (1 << lane) - 1
    for (const [at, [group, name]] of sheet.places.entries()) group[name] = asked[at]!
    for (const [at, name] of saidNames.entries()) answer[name] = said[at]!
    look({ asked: sheet.asked, said: answer, used })
    asked.fill(0)
    said.fill(0)
    lane = 0
  }
  const goThroughOne = (action: Action, focus: keyof Parts | null) => {
    const matters = mattersFor(action)
    const { tier } = actions[action]
    const sets = setsFor(action)
    const choices = matterNames.map((name) => {
      const { all, few } = matters[name] as Matter<unknown>
      return (name === focus ? all : few).map(({ part, yes }) => ({ part, places: placesOf(yes) }))
    })
    const parts: Record<string, unknown> = {}
    const marks: number[][] = [placesOf(aboutAction(action))]
    const choose = (depth: number) => {
      if (depth < matterNames.length) {
        for (const { part, places } of choices[depth]!) {
          parts[matterNames[depth]!] = part
          marks[depth + 1] = places
          choose(depth + 1)
        }
        return
      }
      const { decision, reason_code, applied_scope, policy_source } = engine(action, inputOf(tier, sets, parts as unknown as Parts))
      if ((decision === 'allow') !== (reason_code === null)) throw new Error(`${decision}, and ${reason_code} as its reason`)
      const bit = 1 << lane
      for (const places of marks) for (const place of places) asked[place]! |= bit
      said[wordPlace.get(decision === 'allow' ? decision : reason_code!)!]! |= bit
      said[wordPlace.get(applied_scope)!]! |= bit
      if (policy_source === 'policy_values') said[wordPlace.get(policy_source)!]! |= bit
      lane += 1
      worlds += 1
      if (lane === 32) turnOver()
    }
    choose(0)
    // Each action on its own sheets.
    turnOver()
  }
  for (const focus of matterNames) for (const action of fewActions) goThroughOne(action, focus)
  for (const action of actionNames) goThroughOne(action, null)
  return worlds
}
